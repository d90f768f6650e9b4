"""Data sets, and how their samples are divided over clients. No torch."""
