"""Which runs follow from the papers: expansion, searches, cost, the workflow's paths."""
