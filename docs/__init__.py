"""The documentation: pages, and what builds the site from them (`python -m docs.build`)."""
