"""Which values the report shows: measured, printed, and how they are spelled."""
