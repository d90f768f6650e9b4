"""How far the clients' gradients disagree."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from fedbench.analysis.dissimilarity import Quadratic, quadratics, regulariser
from fedbench.base.checked import Count, NonNegative
from fedbench.core.flat import Model
from fedbench.core.round import weighted_mean
from fedbench.engine.probe import Cells, Columns, Probe, Scene, Sight, require_classes
from fedbench.engine.problem import Problem
from fedbench.engine.server import mix_buffers

_Found = dict[str, dict[str, Quadratic]]  # by model, then by how ASD's weights are scaled


@dataclass(frozen=True)
class Dissimilarity(Probe):
    """Gradient dissimilarity G_d of the regularised client losses, after the last round.

    ASD paper, section 3.3: over all K clients and all of their data, at the mean of the cohort's
    models and at single ones, since at x_t ASD's gradient is 0. The regulariser is the run's ASD,
    other parts' terms are left out; its weights over a client's data either sum to 1
    ('normalised') or are α̂/n as in the paper's proof ('unnormalised'). Table: lam, weights ('none'
    without ASD), model ('mean', 'client 3'), models ('mean', 'single': all clients' alike),
    dissimilarity, for λ in `lams` and the run's own.
    Columns, at the run's λ: dissimilarity and dissimilarity_local (the mean over the single
    models), normalised; with ASD also dissimilarity_unnormalised, dissimilarity_local_unnormalised,
    and at λ = 0 dissimilarity_base, dissimilarity_local_base. Cost: one forward and two backward
    passes through all training data for each of `clients` + 1 models, and the teacher's forward.
    """

    COLUMNS: ClassVar[Columns] = {
        "dissimilarity": ("Gradient dissimilarity", "", "lower"),
        "dissimilarity_local": ("Gradient dissimilarity at a client's model", "", "lower"),
        "dissimilarity_unnormalised": (
            "Gradient dissimilarity, weights not normalised",
            "",
            "lower",
        ),
        "dissimilarity_local_unnormalised": (
            "Gradient dissimilarity at a client's model, weights not normalised",
            "",
            "lower",
        ),
        "dissimilarity_base": ("Gradient dissimilarity without distillation", "", "lower"),
        "dissimilarity_local_base": (
            "Gradient dissimilarity at a client's model without distillation",
            "",
            "lower",
        ),
    }
    TABLE: ClassVar[Columns] = {
        "lam": ("Weight λ of the distillation", "", ""),
        "weights": ("Scaling of the weights", "", ""),
        "model": ("Model", "", ""),
        "models": ("Mean or single model", "", ""),
        "dissimilarity": ("Gradient dissimilarity", "", "lower"),
    }

    lams: tuple[NonNegative, ...] = (0.0, 1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0)
    clients: Count = 2  # local models, beside the mean of all, at which G_d is measured

    def require(self, problem: Problem) -> None:
        """Classes."""
        require_classes(self, problem)

    def see(self, s: Scene) -> Sight:
        """Every model and λ, at the last round."""
        if not s.last:
            return Sight({}, [])
        models = {"mean": _mean(s)} | {
            f"client {i}": model for i, model in zip(s.r.clients, s.local, strict=True)
        }
        chosen = list(models.items())[: self.clients + 1]
        found = {name: quadratics(s.problem, model, s.global_model) for name, model in chosen}
        part = regulariser(s.problem)
        lam = part.lam if part else 0.0
        return Sight(_columns(found, lam), list(self._rows(found, lam)))

    def _rows(self, found: _Found, own: float) -> Iterator[Cells]:
        for name, scaled in found.items():
            for weights, quadratic in scaled.items():
                for lam in sorted({0.0} if weights == "none" else {*self.lams, own}):
                    value = quadratic.at(lam)
                    about: Cells = {"lam": float(lam), "weights": weights, "model": name}
                    yield about | {"models": _kind(name), "dissimilarity": value}


def _mean(s: Scene) -> Model:
    """The mean of the cohort's models, with the run's base weights."""
    statistics_ = [model.buffers for model in s.local]
    return Model(weighted_mean([m.w for m in s.local], s.r.p), mix_buffers(statistics_, s.r.p))


def _kind(name: str) -> str:
    """The mean of the cohort's models, or one of them, whichever client's."""
    return name if name == "mean" else "single"


def _columns(found: _Found, lam: float) -> dict[str, float]:
    columns: dict[str, float] = {}
    for weights in found["mean"]:
        suffix = "_unnormalised" if weights == "unnormalised" else ""
        columns |= _pair(found, weights, lam, suffix)
    return columns | (_pair(found, "normalised", 0.0, "_base") if len(found["mean"]) > 1 else {})


def _pair(found: _Found, weights: str, lam: float, suffix: str) -> dict[str, float]:
    """G_d at the mean, and its mean over the single models."""
    local = [scaled[weights].at(lam) for name, scaled in found.items() if _kind(name) == "single"]
    return {
        f"dissimilarity{suffix}": found["mean"][weights].at(lam),
        f"dissimilarity_local{suffix}": statistics.mean(local),
    }
