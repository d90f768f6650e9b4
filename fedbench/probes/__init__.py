"""Probes, which measure something while a run trains."""
