"""Federated-learning methods, one part per file: a dataclass that overrides hooks."""
