"""How much the gradients of the clients' losses differ (ASD paper, section 3.3; FedProx's figures).

G_d = (1/K Σ_k ‖∇f_k‖²) / ‖1/K Σ_k ∇f_k‖² ≥ 1 at given weights, f_k = L_k + λ R_k. L_k is client k's
mean base loss, R_k ASD's term over all of its data. ∇f_k is linear in λ, so that ∇L_k and ∇R_k of
each client give G_d for every λ.
"""

import statistics
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from fedbench.base.checks import Count, NonNegative
from fedbench.core.flat_network import Model
from fedbench.core.ops import dot
from fedbench.core.round_data import Batch, Turn, weighted_mean
from fedbench.engine.probe import Cells, Columns, OfClasses, Probe, Scene, Sight
from fedbench.engine.problem import Problem
from fedbench.engine.rounds import mix_buffers
from fedbench.methods.asd import ASD

_CHUNK = 500  # samples per pass


class Clients:
    """G_d of the clients whose ∇L_k and ∇R_k have been added; stores two vectors."""

    def __init__(self) -> None:
        self.K = 0
        self.squares: Tensor = torch.zeros(3, dtype=torch.float64)
        self.loss: Tensor = torch.zeros(())
        self.term: Tensor = torch.zeros(())

    def add(self, loss: Tensor, term: Tensor) -> None:
        """Add one client's ∇L_k and ∇R_k."""
        self.K += 1
        self.squares = self.squares + _square(loss, term)
        self.loss, self.term = self.loss + loss, self.term + term

    def at(self, lam: float) -> float:
        """G_d at this λ; NaN where the mean gradient is 0."""
        powers = torch.tensor([1.0, lam, lam**2], dtype=torch.float64)
        of_mean = _square(self.loss / self.K, self.term / self.K)
        return float((powers @ (self.squares / self.K)) / (powers @ of_mean))


@dataclass(frozen=True)
class Dissimilarity(OfClasses):
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
            "Gradient dissimilarity, weights not normalised", "", "lower",
        ),
        "dissimilarity_local_unnormalised": (
            "Gradient dissimilarity at a client's model, weights not normalised", "", "lower",
        ),
        "dissimilarity_base": ("Gradient dissimilarity without distillation", "", "lower"),
        "dissimilarity_local_base": (
            "Gradient dissimilarity at a client's model without distillation", "", "lower",
        ),
    }  # fmt: skip
    TABLE: ClassVar[Columns] = {
        "lam": ("Weight λ of the distillation", "", ""),
        "weights": ("Scaling of the weights", "", ""),
        "model": ("Model", "", ""),
        "models": ("Mean or single model", "", ""),
        "dissimilarity": ("Gradient dissimilarity", "", "lower"),
    }

    lams: tuple[NonNegative, ...] = (0.0, 1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0)
    clients: Count = 2  # how many clients' models to measure beside their mean

    def see(self, s: Scene) -> Sight:
        """Measure every model and λ at the last round."""
        if not s.last:
            return Sight({}, [])
        mean = weighted_mean([model.w for model in s.local], s.r.p)  # with the run's base weights
        models = {"mean": Model(mean, mix_buffers([model.buffers for model in s.local], s.r.p))}
        models |= {f"client {i}": model for i, model in zip(s.r.clients, s.local, strict=True)}
        chosen = list(models.items())[: self.clients + 1]
        measured = {name: quadratics(s.problem, model, s.global_model) for name, model in chosen}
        part = regulariser(s.problem)
        lam = part.lam if part else 0.0
        whose = {"": ("none", lam)}  # columns: the scaling of the weights, and λ
        if part:
            whose = {"": ("normalised", lam), "_unnormalised": ("unnormalised", lam)}
            whose["_base"] = ("normalised", 0.0)
        columns: dict[str, float] = {}
        for suffix, (weights, at) in whose.items():
            first, *local = (scaled[weights].at(at) for scaled in measured.values())
            columns[f"dissimilarity{suffix}"] = first
            columns[f"dissimilarity_local{suffix}"] = statistics.mean(local)
        rows: list[Cells] = [
            {
                "lam": float(at), "weights": weights, "model": name,
                "models": "mean" if name == "mean" else "single", "dissimilarity": clients.at(at),
            }
            for name, scaled in measured.items()
            for weights, clients in scaled.items()
            for at in sorted({*self.lams, lam} if part else {0.0})
        ]  # fmt: skip
        return Sight(columns, rows)


def quadratics(problem: Problem, model: Model, global_model: Model) -> dict[str, Clients]:
    """G_d over all clients and data at `model`, by the scaling of ASD's weights; x_t is teacher."""
    sums: dict[str, Clients] = defaultdict(Clients)
    for client in range(problem.fed.K):
        _, loss, terms = slopes(problem, client, model, global_model)
        for name, term in terms.items():
            sums[name].add(loss, term)
    return sums


def regulariser(problem: Problem) -> ASD | None:
    """The run's ASD; None if the method has none."""
    return next((part for part in problem.task.parts if isinstance(part, ASD)), None)


def slopes(
    problem: Problem, client: int, model: Model, teacher: Model | None = None
) -> tuple[float, Tensor, dict[str, Tensor]]:
    """A client's L_k, ∇L_k and ∇R_k at `model` in evaluation mode; gradients are (d,), float64.

    ∇R_k, which needs ASD's teacher, by the scaling of its weights: 'normalised', Σ_j α_j = 1 over
    the client's n samples, or 'unnormalised', α_j = α̂_j/n; 0 under 'none' without ASD.
    """
    task, part = problem.task, regulariser(problem) if teacher else None
    rows = problem.rows[client].to(problem.device)
    loss, term = torch.zeros_like(model.w).double(), torch.zeros_like(model.w).double()
    value = total = 0.0
    for piece in torch.split(rows, _CHUNK):
        w, x, y = model.w.detach().requires_grad_(), task.prepare(task.x[piece]), task.y[piece]
        with torch.enable_grad():
            z, features = task.net.eval(Model(w, model.buffers), x)
            mean = task.loss(z, y).sum() / len(rows)
            loss += torch.autograd.grad(mean, w, retain_graph=part is not None)[0]
            value += float(mean.detach())
            if part and teacher:
                b = Batch(
                    x=x, y=y, logits=z, features=features, w=w, net=task.net,
                    global_model=teacher, criterion=task.loss,
                )  # fmt: skip
                of_piece, size = _term(problem, part, b, client)
                term += torch.autograd.grad(of_piece, w)[0]
                total += size
    scales = {"normalised": total, "unnormalised": len(rows)} if part else {"none": 1}
    return value, loss, {name: term / scale for name, scale in scales.items()}


def _term(problem: Problem, part: ASD, b: Batch, client: int) -> tuple[Tensor, float]:
    """(Σ_j α̂_j D_j, Σ_j α̂_j) over a batch, made of ASD's loss, in which Σ_j α_j = 1."""
    fed = problem.fed
    n, labels = fed.n[client], fed.labels[client]
    turn = Turn(
        fed=fed, w=b.global_model.w, buffers=b.global_model.buffers, lr=fed.lr, H=1, n=n,
        labels=labels, weight_decay=0.0, round=0,
    )  # fmt: skip
    mean = replace(part, lam=1.0).loss(b.logits.new_zeros(()), b, turn)
    size = part.log_alpha(b.ref[0], labels[b.y] / n).exp().sum()
    return size * mean, float(size)


def _square(a: Tensor, b: Tensor) -> Tensor:
    """Coefficients of ‖a + λ b‖² in λ⁰, λ¹, λ² (3,)."""
    return torch.stack([dot(a, a), 2 * dot(a, b), dot(b, b)]).cpu()


@dataclass(frozen=True)
class Objective(Probe):
    """The global objective, and the variance of the clients' gradients, at the scored model.

    Li et al., "Federated Optimization in Heterogeneous Networks", MLSys 2020, Figs. 1 and 2, after
    the released code: f = Σ_k (n_k/n) F_k, where F_k is the mean base loss of client k's samples in
    evaluation mode, and 1/K Σ_k ‖∇F_k − ∇f‖² over all K clients.

    Columns: objective, f; gradient_variance. Cost of an evaluation: a pass forward and backward
    through all training data.
    """

    COLUMNS: ClassVar[Columns] = {
        "objective": ("Loss on all training data", "", "lower"),
        "gradient_variance": ("Variance of the clients' gradients", "", "lower"),
    }

    def row(self, s: Scene) -> dict[str, float]:
        """Both, from one pass: Σ_k ‖∇F_k − ∇f‖² is Σ_k ‖∇F_k‖² − 2 ⟨Σ_k ∇F_k, ∇f⟩ + K ‖∇f‖²."""
        fed, f, squares = s.problem.fed, 0.0, 0.0
        of_f = torch.zeros_like(s.scored.w).double()  # ∇f
        plain = torch.zeros_like(of_f)  # Σ_k ∇F_k
        for client, share in enumerate((fed.n.double() / fed.n.sum()).tolist()):  # n_k/n
            value, slope, _ = slopes(s.problem, client, s.scored)
            f, of_f = f + share * value, of_f + share * slope
            squares, plain = squares + float(dot(slope, slope)), plain + slope
        total = squares - 2 * float(dot(plain, of_f)) + fed.K * float(dot(of_f, of_f))
        return {"objective": f, "gradient_variance": total / fed.K}
