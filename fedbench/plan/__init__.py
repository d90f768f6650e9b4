"""Which runs follow from the papers: grids, searches, cost, and the workflow's files and jobs."""
