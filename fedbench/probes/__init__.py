"""Probes, which measure something while a run trains; one per file."""
