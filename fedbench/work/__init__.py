"""Local work: the rules that say how much each client of a cohort trains."""
