"""What a column of a run folder's table is called on an axis."""

_LABELS = {
    "cosine": "Cosine to the mean gradient", "projection": "Length along the mean gradient",
    "momentum_cosine": "Cosine to the mean momentum",
    "momentum_projection": "Length along the mean momentum",
    "step": "Local step", "round": "Communication round", "bias": "Bias of the gradient",
}  # fmt: skip


def column_label(name: str) -> str:
    """The name as a reader expects it."""
    return _LABELS.get(name, name.replace("_", " ").capitalize())
