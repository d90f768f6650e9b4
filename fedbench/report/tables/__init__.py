"""How tables are made: cells, their layout in rows and columns, CSV and LaTeX, ranks, facts."""
