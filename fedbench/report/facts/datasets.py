"""How large the data sets are."""

from dataclasses import dataclass

from fedbench.checked import Checked


@dataclass(frozen=True)
class Datasets(Checked):
    """Training and test samples, classes, clients and samples a client (FedGKD paper, Table 2).

    `rows` are levels of the axis `dataset`.
    """

    rows: tuple[str, ...]
