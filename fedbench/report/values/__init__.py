"""The values that the report shows, read from the collected runs, and how they are written."""
