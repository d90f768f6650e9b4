"""Which clients train in a round, one rule per file."""
