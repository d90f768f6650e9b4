"""Measurements on models and gradients, which probes use."""
