"""How tables are made: rows, columns, cells, CSV and LaTeX."""
