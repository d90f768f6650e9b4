"""The parts of the site that are made from the code; `docs/build.py` puts them into pages."""
