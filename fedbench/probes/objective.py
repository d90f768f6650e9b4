"""The loss on all training data, and how much the clients' gradients vary (FedProx's figures)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fedbench.core.flat import Model
from fedbench.core.ops import dot
from fedbench.engine.probe import Columns, Probe, Scene
from fedbench.engine.problem import Problem

_CHUNK = 500  # samples per pass


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
        shares = (fed.n.double() / fed.n.sum()).tolist()  # n_k/n
        for client, share in enumerate(shares):
            loss, gradient = _client(s.problem, client, s.scored)
            f, of_f = f + share * loss, of_f + share * gradient
            squares, plain = squares + float(dot(gradient, gradient)), plain + gradient
        total = squares - 2 * float(dot(plain, of_f)) + fed.K * float(dot(of_f, of_f))
        return {"objective": f, "gradient_variance": total / fed.K}


def _client(problem: Problem, client: int, model: Model) -> tuple[float, Tensor]:
    """A client's mean loss F_k at `model` and its gradient (d,), float64."""
    task, rows = problem.task, problem.rows[client].to(problem.device)
    loss, gradient = 0.0, torch.zeros_like(model.w).double()
    for piece in torch.split(rows, _CHUNK):
        w = model.w.detach().requires_grad_()
        with torch.enable_grad():
            logits, _ = task.net.eval(Model(w, model.buffers), task.prepare(task.x[piece]))
            part = task.loss(logits, task.y[piece]).sum() / len(rows)
            gradient += torch.autograd.grad(part, w)[0]
        loss += float(part.detach())
    return loss, gradient
