"""FedGen: clients also train their classifiers on features that the server's generator makes."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, ClassVar, Literal

import torch
from annotated_types import Ge
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.dropout import _DropoutNd

from fedbench.base.checks import Count, Natural, NonNegative, Share
from fedbench.base.errors import FedbenchError
from fedbench.core import ops
from fedbench.core.flat_network import Model, Net
from fedbench.core.local_optimisers import Adam, descend
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Batch, Federation, Round, State, Turn, pack, unpack


@dataclass(frozen=True)
class FedGen(Part):
    """Add a_t CE(head(Γ(ε, ỹ)), ỹ), a_t = a·0.98^t, from the second round on.

    The server trains Γ on Σ_i w_{i,y} CE(head_i(Γ(ε, y)), y) + exp(−mean over pairs of d_ε d_Γ).
    w_{i,y} is client i's share of the cohort's samples of class y, d_ε and d_Γ are distances of the
    noise and of the features of two generated samples. Zhu, Hong & Zhou, "Data-Free Knowledge
    Distillation for Heterogeneous Federated Learning", ICML 2021, equations 4 and 5.
    """

    needs_classes = True
    shares = "label counts"
    needs_head = True
    computes_at_server: ClassVar[bool] = True

    # The FedGKD paper tunes it over 0.1, 1, 10; its code has 0.1 for CIFAR-10 and Tiny-ImageNet, 1
    # for CIFAR-100 and text; 0 is no such term
    a: NonNegative = 0.1
    # Factor of a term of the original's code, b_t KL(head(Γ(ε, y)) ‖ student's output) for the
    # labels y of the batch
    b: NonNegative = 0.0
    fade: Share = 0.98  # factor of a_t and b_t per round; in the code only
    floor: NonNegative = 1e-4  # least value of a_t and b_t
    # ỹ: all classes equally often, or in proportion to the last cohort's label counts
    labels: Literal["uniform", "pooled"] = "uniform"
    # Generated samples per step: 32 in the original; the FedGKD paper has mini-batches of 64
    size: Annotated[int, Ge(2)] = 32
    # Width of ε: 64 for ResNet-8, 2048 for ResNet-50, 768 for DistilBERT; in the code only
    noise: Count = 64
    hidden: Count = 512  # width of Γ's hidden layer: 512, 2048, 768 for these models
    N: Natural = 50  # the server's steps per round: 10 epochs of 5 steps
    eta: NonNegative = 1e-4  # learning rate of Adam
    eta_decay: Share = 0.98  # factor of eta per round
    weight_decay: NonNegative = 1e-2  # of Adam
    diversity: NonNegative = 1.0  # factor of exp(−…)

    def server(self, w: Tensor, fed: Federation) -> State:
        """Γ (its weights are drawn in the first round), Adam's moments, the label counts."""
        head = fed.net.module().get_submodule("head")
        if any(isinstance(each, _DropoutNd) for each in head.modules()):
            raise FedbenchError("model: FedGen needs a head without dropout; move it to the body")
        zeros = w.new_zeros(self._net(fed).d)
        mean, var = w.new_zeros(self.hidden), w.new_ones(self.hidden)
        gamma = Model(zeros, {"1.running_mean": mean, "1.running_var": var})
        return {**pack(gamma, "gamma"), "m": zeros, "v": zeros, "counts": w.new_ones(fed.classes)}

    def send(self, r: Round) -> State:
        """Send Γ, and with 'pooled' the label counts, by which clients draw labels."""
        private = {"m", "v"} if self.labels == "pooled" else {"m", "v", "counts"}
        return {name: value for name, value in r.state.items() if name not in private}

    def draw(self, rng: torch.Generator, t: Turn) -> State:
        """Noise and labels for every step of the turn."""
        if not (t.round and (self.a or self.b)):
            return {}
        steps, pooled = t.H, t.msg.get("counts")
        counts = torch.ones(t.fed.classes, dtype=t.w.dtype) if pooled is None else pooled.cpu()
        noise = torch.rand(steps, self.size, self.noise, generator=rng, dtype=t.w.dtype)
        drawn = {"noise": noise, "labels": _labels(rng, counts, steps, self.size)}
        if self.b:
            drawn["own"] = torch.rand(noise.shape, generator=rng, dtype=t.w.dtype)
        return {name: value.to(t.w.device) for name, value in drawn.items()}

    def loss(self, value: Tensor, b: Batch, t: Turn) -> Tensor:
        """The loss so far + the terms on generated features."""
        # Deviation: the original has no such terms after 20 local epochs of a round.
        if t.round and self.a:
            y = t.drawn["labels"][t.k]
            z = b.head(self._features(t, t.drawn["noise"][t.k], y))
            value = value + self._now(self.a, t) * F.cross_entropy(z, y)
        if t.round and self.b:
            # Deviation: in a batch of more than `size` samples, noise is used repeatedly.
            rows = torch.arange(len(b.y), device=b.y.device) % self.size
            z = b.head(self._features(t, t.drawn["own"][t.k][rows], b.y)).detach()
            value = value + self._now(self.b, t) * ops.kl(z, b.logits).mean()
        return value

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """Upload the label counts."""
        t.upload["counts"] = t.labels
        return delta

    def step(self, d: Tensor, r: Round) -> Tensor:
        """Train Γ on the clients' classifiers; the global update is left as it is."""
        net, gamma = self._net(r.fed), unpack(r.state, "gamma")
        first = gamma.w if r.round else _first_weights(net, r.rng).to(gamma.w)
        buffers = {name: value.clone() for name, value in gamma.buffers.items()}  # changed in place
        counts = torch.stack([up["counts"] for up in r.uploads])
        often = self._often(counts).cpu()  # read once: labels are drawn on the CPU

        def loss(w: Tensor) -> Tensor:
            return self._loss(lambda x: net.train(w, buffers, x)[0], counts, often, r)

        adam, rates = Adam(weight_decay=self.weight_decay), [self.eta * self.eta_decay**r.round]
        memory = {name: r.state[name] for name in ("m", "v")}
        w, memory = descend(loss, first, adam, rates * self.N, memory, r.round * self.N)
        r.state = {**pack(Model(w, buffers), "gamma"), **memory, "counts": counts.sum(0)}
        return d

    def cost(self, size: Sizes) -> Cost:
        """Γ is sent, label counts are uploaded; each term has one more pass through the head.

        It is counted as a pass of one batch, though `size` may be smaller or larger than a batch.
        """
        terms = (self.a > 0) + (self.b > 0)  # the second goes forward alone
        hidden, features, classes = self.hidden, size.features, size.classes
        weights = (self.noise + classes + 3) * hidden + (hidden + 1) * features
        head = (features + 1) * classes / size.d  # by weights, the head's share of a pass
        return Cost(
            down=weights + 2 * hidden + classes * (self.labels == "pooled"), up=classes,
            forward=head * terms, backward=head * (self.a > 0),
            server_memory=3 * weights + 2 * hidden + classes,
        )  # fmt: skip

    def _now(self, first: float, t: Turn) -> float:
        """The value of a_t or b_t in this round, from that of the first round."""
        return max(self.floor, first * self.fade**t.round)

    def _net(self, fed: Federation) -> Net:
        return _perceptron(self.noise + fed.classes, self.hidden, fed.net.features)

    def _features(self, t: Turn, noise: Tensor, y: Tensor) -> Tensor:
        """The features Γ(ε, y), with Γ frozen and in evaluation mode."""
        x = _labelled(noise, y, t.fed.classes)
        return self._net(t.fed).eval(unpack(t.msg, "gamma"), x)[0]

    def _often(self, counts: Tensor) -> Tensor:
        """How often each class is drawn; never one of which the cohort has no sample."""
        totals = counts.sum(0)
        return totals if self.labels == "pooled" else totals.sign()

    def _loss(
        self, gamma: Callable[[Tensor], Tensor], counts: Tensor, often: Tensor, r: Round
    ) -> Tensor:
        """Σ_i w_{i,y} CE(head_i(Γ(ε, y)), y) + the penalty on similar features."""
        # Deviation: equation 4 has the cross-entropy of the heads' mean logits; the released code
        # has the mean of cross-entropies, as here.
        y = _labels(r.rng, often, 1, self.size)[0].to(r.w.device)
        noise = torch.rand(self.size, self.noise, generator=r.rng, dtype=r.w.dtype).to(r.w.device)
        features = gamma(_labelled(noise, y, r.fed.classes))
        z = torch.func.vmap(r.fed.net.head, in_dims=(0, None))(r.models, features)  # (m, size, C)
        losses = F.cross_entropy(z.transpose(1, 2), y.expand(len(z), -1), reduction="none")
        shares = (counts / counts.sum(0).clamp(min=1))[:, y]
        wrong = (shares * losses).sum(0).mean()
        return wrong + self.diversity * _likeness(noise, features)


@cache
def _perceptron(inputs: int, hidden: int, outputs: int) -> Net:
    """The network of linear layer, batch norm, ReLU, linear layer; building it draws no numbers."""
    with torch.random.fork_rng(devices=[]):
        first, last = nn.Linear(inputs, hidden), nn.Linear(hidden, outputs)
        return Net(nn.Sequential(first, nn.BatchNorm1d(hidden), nn.ReLU(), last))


def _first_weights(net: Net, rng: torch.Generator) -> Tensor:
    """Initial weights (d,): linear layers uniform in ±1/√inputs, batch norm scale 1 and shift 0."""
    inputs = {name[0]: s[1] for name, s in zip(net.names, net.shapes, strict=True) if len(s) == 2}
    widths = [1 / math.sqrt(inputs[name[0]]) if name[0] in inputs else 0.0 for name in net.names]
    centres = [float(name == "1.weight") for name in net.names]
    sizes = torch.tensor(net.sizes)
    random = 2 * torch.rand(net.d, generator=rng, dtype=torch.float64) - 1
    spread, centre = (torch.tensor(v).repeat_interleave(sizes) for v in (widths, centres))
    return centre + spread * random


def _labels(rng: torch.Generator, often: Tensor, rows: int, size: int) -> Tensor:
    """Labels (rows, size) on the CPU, where `often` (C,) must be: in proportion to its entries."""
    return torch.multinomial(often, rows * size, replacement=True, generator=rng).view(rows, size)


def _labelled(noise: Tensor, y: Tensor, classes: int) -> Tensor:
    """The generator's input: noise (B, width) and one-hot labels (B, C) side by side."""
    one_hot = y[:, None] == torch.arange(classes, device=y.device)
    return torch.cat([noise, one_hot.to(noise.dtype)], 1)


def _likeness(noise: Tensor, features: Tensor) -> Tensor:
    """exp(−mean over all pairs of d_ε d_Γ): large if different noise gives similar features."""
    by_noise = (noise[:, None] - noise).square().mean(-1)
    by_features = (features[:, None] - features).abs().mean(-1)
    return (-(by_noise * by_features).mean()).exp()
