"""Clients' updates and the last global update (FedDPC paper, section 4 and Fig. 2)."""

import math
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from fedbench.core.ops import dot
from fedbench.core.part import Part
from fedbench.core.round import Round
from fedbench.methods.feddpc import FedDPC


class Geometry(NamedTuple):
    """One update Δ and the last global update P: r = Δ − (Δ·P/P·P) P, s is FedDPC's factor.

    angle: degrees between Δ and P; length ‖Δ‖; along: Δ·P/‖P‖; residual ‖r‖; scaled ‖s r‖; s.
    """

    angle: float
    length: float
    along: float
    residual: float
    scaled: float
    s: float


def rule(parts: tuple[Part, ...]) -> FedDPC:
    """The run's FedDPC; if the run does not project, FedDPC with its defaults."""
    return next((p for p in parts if isinstance(p, FedDPC) and p.projection), FedDPC())


def residuals(feddpc: FedDPC, deltas: Tensor, P: Tensor, r: Round) -> tuple[Tensor, Tensor]:
    """(r_i, s_i r_i), both (m, d), for updates (m, d) in model units."""
    view = replace(r, state={"P": P})
    unscaled = replace(feddpc, scaling="none")
    freed = torch.stack([unscaled.receive(delta, view) for delta in deltas])
    return freed, torch.stack([feddpc.receive(delta, view) for delta in deltas])


def geometry(delta: Tensor, freed: Tensor, scaled: Tensor, P: Tensor) -> Geometry:
    """Angle and lengths of an update Δ, its residual r and the scaled one, in units of Δ."""
    length, residual, stretched = (float(dot(v, v).sqrt()) for v in (delta, freed, scaled))
    along = float(dot(delta, P) / dot(P, P).sqrt())
    angle = math.degrees(math.atan2(residual, along))
    return Geometry(
        angle, length, along, residual, stretched, stretched / residual if residual else 0.0
    )


def variance(vectors: Tensor) -> float:
    """Σ_i ‖v_i − v̄‖²/(n−1) of vectors (n, d); NaN for a single one."""
    return float(vectors.double().var(0).sum()) if len(vectors) > 1 else float("nan")


def relative_variance(vectors: Tensor) -> float:
    """`variance` over the squared mean length (Σ_i ‖v_i‖/n)², which no scaling changes."""
    return ratio(variance(vectors), float(vectors.double().norm(dim=1).mean()) ** 2)


def ratio(part: float, whole: float) -> float:
    """Part / whole; NaN where the whole is 0."""
    return part / whole if whole else float("nan")
