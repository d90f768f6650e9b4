"""Layers of the models."""

from dataclasses import dataclass

from fedbench.checked import Checked


@dataclass(frozen=True)
class Architectures(Checked):
    """Layers, output shapes and parameters of built models (ASD paper, Table 5).

    `rows` are levels of the axis `dataset`.
    """

    rows: tuple[str, ...]
