"""FedDF: the server distils the ensemble of the clients' models into their average."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from fedbench.base.checks import Count, Natural, Positive
from fedbench.core import ops
from fedbench.core.flat_network import Buffers, Model
from fedbench.core.local_optimisers import Adam, descend
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Round


@dataclass(frozen=True)
class FedDF(Part):
    """Distil the clients' mean logits on unlabelled data into the mean of their models.

    N steps x ← x − η ∂KL(σ(mean_i f(y_i, u)) ‖ σ(f(x, u)))/∂x with mini-batches u, starting from
    Σ p_i y_i; f are logits, σ is the softmax.
    Lin et al., "Ensemble Distillation for Robust Model Fusion in Federated Learning", NeurIPS 2020,
    algorithm 1 and AVGLOGITS. The unlabelled data are the held-out training inputs.
    """

    needs_classes = True
    proxy_data = True
    computes_at_server: ClassVar[bool] = True

    # Deviation: the paper makes up to 10,000 steps and stops when 1,000 bring no progress on
    # labelled validation data; here the number is fixed and small, so that no label is used.
    # 0 is FedAvg
    N: Natural = 100
    eta: Positive = 1e-3  # learning rate of Adam, which starts anew in each round
    schedule: Literal["cosine", "constant"] = "cosine"  # of η within a round
    batch: Count = 128

    def step(self, d: Tensor, r: Round) -> Tensor:
        """x_t minus the student, whose training starts from x_t − d."""
        if not self.N:
            return d
        u = r.proxy()
        statistics = {k: torch.stack([each[k] for each in r.statistics]) for k in r.buffers}
        teacher = _mean_logits(r, statistics, u)
        # Deviation: the student's norm layers have the clients' mean statistics, which stay fixed.
        buffers = {k: torch.tensordot(r.p, v.to(r.p), 1) for k, v in statistics.items()}

        def loss(w: Tensor) -> Tensor:
            # Deviation: samples are drawn with replacement, not in shuffled epochs.
            rows = torch.randint(len(u), (self.batch,), generator=r.rng).to(u.device)
            return ops.kl(teacher[rows], r.fed.net.eval(Model(w, buffers), u[rows])[0]).mean()

        student, _ = descend(loss, r.w - d, Adam(), self._rates())
        return r.w - student

    def cost(self, size: Sizes) -> Cost:
        """A gradient and an update per step at the server; clients have no extra work."""
        return Cost(ops_server=2 * self.N)

    def _rates(self) -> list[float]:
        """The learning rates of the N steps: η, or η (1 + cos(π k/N))/2 for k = 0 … N−1."""
        if self.schedule == "constant":
            return [self.eta] * self.N
        return [self.eta * (1 + math.cos(math.pi * k / self.N)) / 2 for k in range(self.N)]


def _mean_logits(r: Round, statistics: Buffers, u: Tensor) -> Tensor:
    """The ensemble's logits (N, C): the unweighted mean of the clients' logits."""

    def logits(w: Tensor, buffers: Buffers, x: Tensor) -> Tensor:
        return r.fed.net.eval(Model(w, buffers), x)[0]

    def everyone(x: Tensor) -> Tensor:
        try:
            return torch.func.vmap(logits, in_dims=(0, 0, None))(r.models, statistics, x)
        except RuntimeError:  # of a layer that vmap does not know, such as an LSTM
            its = [{k: v[i] for k, v in statistics.items()} for i in range(len(r.models))]
            return torch.stack([logits(w, b, x) for w, b in zip(r.models, its, strict=True)])

    with torch.no_grad():
        return torch.cat([everyone(x).mean(0) for x in torch.split(u, 100)])
