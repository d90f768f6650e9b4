"""FedDF: distillation at the server by hand, its invariants, and against plain NumPy."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from fedbench import Dataset, Part, RunSpec, run
from fedbench.core.flat_network import Model, Net
from fedbench.core.rng import torch_generator
from fedbench.data.partition import hold_out
from fedbench.methods.feddf import FedDF, _mean_logits
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import close

EXTRA = [{"N": 20, "schedule": "constant", "batch": 16}]
NEUTRAL = [{"N": 0}]
NEEDS = {"validation": 0.5}
QUICK = {"N": 2, "batch": 4}


def setting(**changes):
    """The reference's problem, of which 30 % of every class are held out: (setting, their rows)."""
    s = reference.problem(**changes)
    data = Dataset("reference", s.x, s.y, s.x, s.y, classes=4)
    train, out = hold_out(data, 0.3, 0)
    cuts = [2, 5, 10, 17, 25]
    return replace(s, rows=np.split(train, cuts)), out


def distilled(s, out, part, x, models, t):
    """FedDF's algorithm: Adam on KL(σ(mean logits) ‖ σ(U x)) from the mean model."""
    rng = torch_generator(s.seed, t, -1, "FedDF")
    u = s.x[out]
    z = np.mean([u @ y.T for y in models], axis=0)
    q = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    m = v = np.zeros_like(x)
    for k in range(part.N):
        rows = torch.randint(len(u), (part.batch,), generator=rng).numpy()
        z = u[rows] @ x.T
        p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
        g = (p - q[rows]).T @ u[rows] / part.batch
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        eta = part.eta
        if part.schedule == "cosine":
            eta *= 0.5 * (1 + np.cos(np.pi * k / part.N))
        x = x - eta * (m / (1 - 0.9 ** (k + 1))) / (np.sqrt(v / (1 - 0.999 ** (k + 1))) + 1e-8)
    return x


@pytest.mark.parametrize("schedule", ["cosine", "constant"])
def test_numpy_reference(schedule):
    # with n_k weights: the plain mean of linear models is their ensemble, nothing would be learnt
    s, out = setting(by_samples=True)
    part = FedDF(N=15, eta=0.01, schedule=schedule, batch=5)

    def one_round(t, cohort, p, x):
        models = [reference.descend(s, t, i, x, lambda y, g: g) for i in cohort]
        return distilled(s, out, part, reference.mix(p, models), models, t)

    got = trajectory(s, (part,), validation=0.3)
    np.testing.assert_allclose(got, reference.rounds(s, one_round), rtol=1e-8, atol=1e-10)
    plain = reference.fedavg(s)
    assert np.abs(got - plain).max() > 0.01


def test_the_rates_follow_half_a_cosine():
    # N = 4: (1 + cos 0)/2, (1 + cos 45°)/2, (1 + cos 90°)/2, (1 + cos 135°)/2
    root = 2**-0.5
    rates = FedDF(N=4, eta=2.0)._rates()
    assert close(rates, 2, 1 + root, 1, 1 - root)
    assert FedDF(N=3, eta=2.0, schedule="constant")._rates() == [2.0] * 3


def test_the_first_step_by_hand():
    # Adam's first step is the gradient's sign. Two classes, logits (w, 0): teachers w = 1 and 3
    # have mean logits (2, 0). Student: mean weights ¾·1 + ¼·3 = 1.5 must rise: 1.5 + 0.01
    head = SimpleNamespace(eval=lambda model, x: (logits(model.w, x), x))
    r = SimpleNamespace(fed=SimpleNamespace(net=head), p=torch.tensor([0.75, 0.25]), buffers={})
    r.w, r.models, r.statistics = torch.tensor([0.0]), torch.tensor([[1.0], [3.0]]), [{}, {}]
    r.proxy, r.rng = lambda: torch.ones(4, 1), torch.Generator()
    d = FedDF(N=1, eta=0.01, batch=2).step(torch.tensor([-1.5]), r)
    assert d.item() == pytest.approx(-1.51, abs=1e-6)


def logits(w, x):
    return torch.cat([x * w, 0 * x], 1)


@pytest.mark.parametrize("sampled", [1, 3])
def test_an_ensemble_that_is_the_student_has_nothing_to_teach(sampled):
    # one client, or equally weighted linear models: the gradient vanishes. One step only: Adam
    # divides by |g| + 1e-8, so that several would blow up the rounding
    s, _ = setting(sampled=sampled)
    got = trajectory(s, (FedDF(N=1, eta=0.1),), validation=0.3)
    np.testing.assert_allclose(got, reference.fedavg(s), rtol=0, atol=1e-7)


@dataclass(frozen=True)
class Half(Part):
    """Goes half the way."""

    def step(self, d, r):
        return d / 2


def test_the_student_starts_where_the_parts_before_it_led():
    s, _ = setting(rounds=1)
    half = trajectory(s, (Half(),), validation=0.3)
    after = trajectory(s, (Half(), FedDF(N=3, eta=1e-6)), validation=0.3)
    assert 0 < np.abs(after - half).max() <= 3.1e-6
    before = trajectory(s, (FedDF(N=3, eta=1e-6), Half()), validation=0.3)
    assert 0 < np.abs(before - half).max() <= 1.6e-6


def test_the_student_nears_the_ensemble():
    s, out = setting(rounds=1, epochs=8)
    cohort = s.cohort(0)
    models = [reference.descend(s, 0, i, s.w0, lambda y, g: g) for i in cohort]

    def apart(x):
        u = s.x[out]
        a, b = np.mean([u @ y.T for y in models], axis=0), u @ x.T
        a, b = (z - np.log(np.exp(z).sum(1, keepdims=True)) for z in (a, b))
        return (np.exp(a) * (a - b)).sum(1).mean()

    # the mean of linear models has the mean logits: start elsewhere, half the way from x_0
    parts = (Half(), FedDF(N=300, eta=0.01))
    start, end = (trajectory(s, chosen, validation=0.3)[0] for chosen in (parts[:1], parts))
    assert apart(end) < 0.1 * apart(start)


def test_every_teacher_has_its_own_statistics():
    net = Net(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).double())
    rng = torch.Generator().manual_seed(0)
    r = SimpleNamespace(fed=SimpleNamespace(net=net), buffers=net.start().buffers)
    r.models = torch.randn(2, net.d, generator=rng, dtype=torch.float64)
    r.statistics = [dict(r.buffers), {**r.buffers, "1.running_mean": torch.ones(3).double()}]
    x = torch.randn(150, 2, generator=rng, dtype=torch.float64)
    pairs = zip(r.models, r.statistics, strict=True)
    wanted = torch.stack([net.eval(Model(w, own), x)[0] for w, own in pairs]).mean(0)
    stacked = {k: torch.stack([own[k] for own in r.statistics]) for k in r.buffers}
    torch.testing.assert_close(_mean_logits(r, stacked, x), wanted)


class Recurrent(nn.Module):
    """Classifies by the last output of an LSTM, which vmap does not know."""

    def __init__(self):
        super().__init__()
        self.lstm, self.out = nn.LSTM(1, 3, batch_first=True), nn.Linear(3, 2)

    def forward(self, x):
        return self.out(self.lstm(x[..., None])[0][:, -1])


def test_the_ensemble_of_a_recurrent_network_is_the_mean_of_its_models():
    net = Net(Recurrent().double())
    models, x = torch.randn(2, net.d).double(), torch.randn(5, 4).double()
    r = SimpleNamespace(fed=SimpleNamespace(net=net), models=models)
    wanted = sum(net.eval(Model(w, {}), x)[0] for w in models) / 2
    torch.testing.assert_close(_mean_logits(r, {}, x), wanted)


def test_it_needs_unlabelled_data(cpu, refuses):
    with refuses("FedDF needs held-out data"):
        run(RunSpec(parts=["feddf"]), machine=cpu)
