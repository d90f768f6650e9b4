"""What a paper's YAML file may say: grids, tables, figures, claims, scales."""
