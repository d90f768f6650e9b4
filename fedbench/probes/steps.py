"""How the clients' gradients drift apart over the local steps."""

from dataclasses import dataclass
from typing import Literal

from fedbench.checked import Count
from fedbench.probe import Probe


@dataclass(frozen=True)
class Steps(Probe):
    """Cosine and projection of each client's gradient on the mean gradient, step by step."""

    every: Count = 1  # watch rounds every, 2·every, …
    reference: Literal["all", "cohort"] = "all"  # whose full gradient at x_t the bias is against
