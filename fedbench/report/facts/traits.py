"""What each method asks for beside a model."""

from dataclasses import dataclass

from fedbench.checked import Checked


@dataclass(frozen=True)
class Traits(Checked):
    """Ticks and crosses from what the parts declare (FedGKD paper, Table 1).

    `methods` are named methods.
    """

    methods: tuple[str, ...]
