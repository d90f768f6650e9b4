"""How much the gradients of the clients' losses differ."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from fedbench.analysis.dissimilarity import Quadratic, quadratics, regulariser
from fedbench.base.checks import Count, NonNegative
from fedbench.core.flat import Model
from fedbench.core.round import weighted_mean
from fedbench.engine.probe import Cells, Columns, Probe, Scene, Sight, require_classes
from fedbench.engine.problem import Problem
from fedbench.engine.server import mix_buffers

_Measured = dict[str, dict[str, Quadratic]]  # by model, then by the scaling of ASD's weights


@dataclass(frozen=True)
class Dissimilarity(Probe):
    """Gradient dissimilarity G_d of the regularised client losses, after the last round.

    ASD paper, section 3.3: over all K clients and all of their data, at the mean of the cohort's
    models and at some clients' models (at x_t the gradient of ASD's term is 0). The regulariser is
    the run's ASD; the terms of other parts are left out. ASD's weights over a client's data either
    sum to 1 ('normalised') or are α̂/n, as in the paper's proof ('unnormalised').

    Table: lam, in `lams` or the run's λ; weights, the scaling of ASD's weights, 'none' without ASD;
    model, such as 'mean' or 'client 3'; models, 'mean' or for any client 'single'; dissimilarity.
    Columns, at the run's λ with normalised weights: dissimilarity, at the mean model, and
    dissimilarity_local, the mean over the clients' models. With ASD also
    dissimilarity_unnormalised and dissimilarity_local_unnormalised, and at λ = 0
    dissimilarity_base and dissimilarity_local_base. Cost: one forward and two backward passes
    through all training data for each of `clients` + 1 models, and the teacher's forward passes.
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
    clients: Count = 2  # how many clients' models to measure beside their mean

    def require(self, problem: Problem) -> None:
        """Raise `FedbenchError` if the data have no classes."""
        require_classes(self, problem)

    def see(self, s: Scene) -> Sight:
        """Measure every model and λ at the last round."""
        if not s.last:
            return Sight({}, [])
        models = {"mean": _mean(s)} | {
            f"client {i}": model for i, model in zip(s.r.clients, s.local, strict=True)
        }
        chosen = list(models.items())[: self.clients + 1]
        measured = {name: quadratics(s.problem, model, s.global_model) for name, model in chosen}
        part = regulariser(s.problem)
        lam = part.lam if part else 0.0
        return Sight(_columns(measured, lam), list(self._rows(measured, lam)))

    def _rows(self, measured: _Measured, run_lam: float) -> Iterator[Cells]:
        for name, scaled in measured.items():
            for weights, quadratic in scaled.items():
                for lam in sorted({0.0} if weights == "none" else {*self.lams, run_lam}):
                    value = quadratic.at(lam)
                    about: Cells = {"lam": float(lam), "weights": weights, "model": name}
                    yield about | {"models": _kind(name), "dissimilarity": value}


def _mean(s: Scene) -> Model:
    """The mean of the cohort's models, with the run's base weights."""
    statistics_ = [model.buffers for model in s.local]
    return Model(weighted_mean([m.w for m in s.local], s.r.p), mix_buffers(statistics_, s.r.p))


def _kind(name: str) -> str:
    """What the table's column `models` says of this model: 'mean' or 'single'."""
    return name if name == "mean" else "single"


def _columns(measured: _Measured, lam: float) -> dict[str, float]:
    columns: dict[str, float] = {}
    for weights in measured["mean"]:
        suffix = "_unnormalised" if weights == "unnormalised" else ""
        columns |= _pair(measured, weights, lam, suffix)
    if len(measured["mean"]) > 1:
        columns |= _pair(measured, "normalised", 0.0, "_base")
    return columns


def _pair(measured: _Measured, weights: str, lam: float, suffix: str) -> dict[str, float]:
    """G_d at the mean model, and the mean of G_d over the clients' models."""
    local = [
        scaled[weights].at(lam) for name, scaled in measured.items() if _kind(name) == "single"
    ]
    return {
        f"dissimilarity{suffix}": measured["mean"][weights].at(lam),
        f"dissimilarity_local{suffix}": statistics.mean(local),
    }
