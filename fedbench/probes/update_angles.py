"""Angles between clients' updates and the last global update (FedDPC paper, section 4, Fig. 2)."""

import math
import statistics
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from fedbench.core.ops import dot
from fedbench.core.part import Part
from fedbench.engine.probe import Cells, Columns, Probe, Scene, Sight
from fedbench.methods.feddpc import FedDPC


@dataclass(frozen=True)
class Angles(Probe):
    """Angles of the updates to the last global update, FedDPC's scales, and variances.

    FedDPC paper, section 4 and Fig. 2. Δ_i is a client's upload in gradient units (D_i/η), Δ_t =
    (x_t − x_{t+1})/η_t, r_i is Δ_i without its part along Δ_{t−1}, s_i FedDPC's factor (with the
    parameters of the run's FedDPC, or the defaults if the run does not project).

    Columns: angle_mean (degrees); angle_share_obtuse, the share of the cohort with an angle above
    90°; s_mean; residual_variance, scaled_variance and delta_variance, which are Σ ‖v_i − v̄‖²/(m−1)
    of r_i, s_i r_i and Δ_i; update_cosine of Δ_t and Δ_{t−1} (0 by construction with FedDPC);
    update_variance, the same sum of Δ_t over the rounds so far. residual_relative_variance and so
    on are these four variances divided by the squared mean length of their vectors: whatever the
    data, a projection never raises a variance itself, and longer vectors hardly ever lower one.

    Table: round, client, angle, length ‖Δ_i‖, along (length of Δ_i along Δ_{t−1}), residual ‖r_i‖,
    scaled ‖s_i r_i‖, s. The first round has no Δ_{t−1}. Cost: some vector operations per client,
    and memory for two vectors.
    """

    COLUMNS: ClassVar[Columns] = {
        "angle_mean": ("Angle to the last global step", "°", ""),
        "angle_share_obtuse": ("Share of angles above 90°", "", ""),
        "s_mean": ("Scaling s", "", ""),
        "residual_variance": ("Variance of the residuals", "", ""),
        "scaled_variance": ("Variance, scaled", "", ""),
        "residual_relative_variance": ("Variance of the residuals, relative", "", "lower"),
        "scaled_relative_variance": ("Variance, scaled, relative", "", "lower"),
        "delta_variance": ("Variance of the updates", "", ""),
        "delta_relative_variance": ("Variance of the updates, relative", "", "lower"),
        "update_cosine": ("Cosine of global steps", "", ""),
        "update_variance": ("Variance of the global steps", "", "lower"),
        "update_relative_variance": ("Variance of the global steps, relative", "", "lower"),
    }
    TABLE: ClassVar[Columns] = {
        "round": ("Communication round", "", ""),
        "client": ("Client", "", ""),
        "angle": ("Angle to the last global step", "°", ""),
        "length": ("Length of the update", "", ""),
        "along": ("Length along the last global step", "", ""),
        "residual": ("Length of the residual", "", ""),
        "scaled": ("Length of the scaled residual", "", ""),
        "s": ("Scaling s", "", ""),
    }

    def see(self, s: Scene) -> Sight:
        """Measure every round, since the next one needs this round's update."""
        columns, rows = dict.fromkeys(self.COLUMNS, math.nan), list[Cells]()
        deltas = torch.stack([reply.delta(s.r.w) for reply in s.replies]) / s.r.lr
        vectors = {"delta": deltas}
        if "update" in s.state:
            P = s.state["update"]
            feddpc, view = rule(s.problem.task.parts), replace(s.r, state={"P": P})
            vectors["residual"], vectors["scaled"] = (  # r_i and s_i r_i (m, d)
                torch.stack([each.receive(delta, view) for delta in deltas * s.r.lr]) / s.r.lr
                for each in (replace(feddpc, scaling="none"), feddpc)
            )
            each = zip(*vectors.values(), strict=True)
            shapes = [geometry(delta, freed, scaled, P) for delta, freed, scaled in each]
            angles = [shape["angle"] for shape in shapes]
            columns["angle_mean"] = statistics.mean(angles)
            columns["angle_share_obtuse"] = float(statistics.mean(angle > 90 for angle in angles))
            columns["s_mean"] = statistics.mean(shape["s"] for shape in shapes)
            for i, shape in zip(s.r.clients, shapes, strict=True):
                rows.append({"round": s.r.round + 1, "client": int(i), **shape})
        for name, v in vectors.items():
            columns[f"{name}_variance"] = variance(v)
            columns[f"{name}_relative_variance"] = relative_variance(v)
        return Sight(columns | _global(s), rows)


def _global(s: Scene) -> dict[str, float]:
    """The columns about Δ_t; stores this round's update and the sums over rounds."""
    update = (s.r.w - s.new.w) / s.r.lr
    before = s.state.get("update")
    square = dot(update, update)
    total = s.state.get("total", 0) + update.double()
    squares = torch.as_tensor(s.state.get("squares", 0) + square)
    lengths = torch.as_tensor(s.state.get("lengths", 0) + square.sqrt())
    s.state.update(update=update, total=total, squares=squares, lengths=lengths)
    cosine, n = math.nan, s.r.round + 1
    if before is not None:
        cosine = float(dot(update, before) / (square * dot(before, before)).sqrt())
    spread = float(squares - dot(total, total) / n) / (n - 1) if n > 1 else math.nan
    return {
        "update_cosine": cosine,
        "update_variance": spread,
        "update_relative_variance": ratio(spread, float(lengths / n) ** 2),
    }


def rule(parts: tuple[Part, ...]) -> FedDPC:
    """The run's FedDPC; if the run does not project, FedDPC with its defaults."""
    return next((p for p in parts if isinstance(p, FedDPC) and p.projection), FedDPC())


def geometry(delta: Tensor, freed: Tensor, scaled: Tensor, P: Tensor) -> dict[str, float]:
    """An update Δ, its residual r and the scaled one against P, as `TABLE` names the cells."""
    length, residual, stretched = (float(dot(v, v).sqrt()) for v in (delta, freed, scaled))
    along = float(dot(delta, P) / dot(P, P).sqrt())
    angle = math.degrees(math.atan2(residual, along))
    s = stretched / residual if residual else 0.0
    lengths = {"length": length, "along": along, "residual": residual, "scaled": stretched}
    return {"angle": angle, **lengths, "s": s}


def variance(vectors: Tensor) -> float:
    """Σ_i ‖v_i − v̄‖²/(n−1) of vectors (n, d); NaN for a single one."""
    return float(vectors.double().var(0).sum()) if len(vectors) > 1 else math.nan


def relative_variance(vectors: Tensor) -> float:
    """`variance` over the squared mean length (Σ_i ‖v_i‖/n)², which no scaling changes."""
    return ratio(variance(vectors), float(vectors.double().norm(dim=1).mean()) ** 2)


def ratio(part: float, whole: float) -> float:
    """Part / whole; NaN where the whole is 0."""
    return part / whole if whole else math.nan
