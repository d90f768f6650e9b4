"""Federated-learning methods, one per file, each a dataclass with hooks."""
