"""Curvature against dense Hessians of small models."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from curvlinops.examples import TensorLinearOperator
from scipy.sparse.linalg import aslinearoperator
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from fedbench import Machine, Part, RunSpec, run
from fedbench.core.flat_network import Model
from fedbench.engine.assemble import assemble
from fedbench.models.fast_pooling import MaxPool2
from fedbench.probes import spectrum
from fedbench.probes.spectrum import (
    Spectrum,
    density,
    hessian,
    top_eigenvalue,
    trace,
    twice_differentiable,
)
from tests.methods.one_weight import LINE, blocks
from tests.methods.one_weight import objects as line_objects
from tests.models.networks import SMALL
from tests.models.test_distilbert import SMALL as TEXT
from tests.models.test_training import fewest
from tests.probes.test_probes import objects

SPEC = RunSpec(clients=1, precision="float64", weight_decay=0.5, parts=["asd"])


class Attention(nn.Module):
    """Two heads over the two inputs as a sequence."""

    def __init__(self):
        super().__init__()
        self.lift, self.out = nn.Linear(1, 12), nn.Linear(8, 3)

    def forward(self, x):
        q, k, v = self.lift(x[:, :, None]).view(len(x), 2, 2, 6).transpose(1, 2).split(2, -1)
        return self.out(F.scaled_dot_product_attention(q, k, v).flatten(1))


class Pooling(nn.Module):
    """Two rows of eight values each, and their maxima in windows of two by two."""

    def __init__(self):
        super().__init__()
        self.lift, self.pool, self.out = nn.Linear(2, 16), MaxPool2(), nn.Linear(4, 3)

    def forward(self, x):
        return self.out(self.pool(self.lift(x).tanh().view(len(x), 1, 2, 8)).flatten(1))


def case(module=None, normed=False):
    """(task, model, rows, dense Hessian of the mean cross-entropy at trained statistics)."""
    torch.manual_seed(1)
    things = objects(normed) | ({"model": module} if module else {})
    problem = assemble(SPEC, things, Machine(device="cpu", workers=1), None)
    task, start = problem.task, problem.fed.start
    buffers = {k: v + 0.3 if v.is_floating_point() else v for k, v in start.buffers.items()}
    model, rows = Model(start.w + 0.1, buffers), torch.arange(0, 160, 3)

    def loss(w):
        z, _ = task.net.eval(Model(w, buffers), task.prepare(task.x[rows]))
        return F.cross_entropy(z, task.y[rows])

    with sdpa_kernel(SDPBackend.MATH):  # and with PyTorch's own norms
        return task, model, rows, torch.autograd.functional.hessian(loss, model.w)


def norms():
    """Group norm of two pairs of channels of 2×2 pixels, then layer norm of the pixels."""
    images = [nn.Unflatten(1, (4, 2, 2)), nn.GroupNorm(2, 4), nn.Tanh(), nn.LayerNorm([2, 2])]
    return nn.Sequential(nn.Linear(2, 16), *images, nn.Tanh(), nn.Flatten(), nn.Linear(16, 3))


CASES = {
    "plain": (None, False),
    "batch norm": (None, True),
    "group and layer norm": (norms(), False),
    "attention": (Attention(), False),
    "pooling": (Pooling(), False),
}


@pytest.mark.parametrize("name", CASES)
def test_products_are_those_of_the_dense_hessian(name, monkeypatch):
    task, model, rows, dense = case(*CASES[name])
    monkeypatch.setitem(spectrum._CHUNK, "cpu", 20)  # pieces of 20, 20 and 14
    H = hessian(task, model, rows)
    v = torch.randn(task.net.d, 2, dtype=torch.float64)
    with twice_differentiable():
        assert torch.allclose(H @ v, dense @ v, rtol=1e-9, atol=1e-12)
        top = top_eigenvalue(H, 1e-8, 100, v[:, 0])
    wanted = torch.linalg.eigvalsh(dense)
    assert top == pytest.approx(float(wanted[wanted.abs().argmax()]), rel=1e-6)


@pytest.mark.parametrize("name", [*SMALL, "distilbert"])
def test_every_model_has_the_products_that_its_gradients_differences_say(name, cpu):
    text = name == "distilbert"
    spec = SPEC.changed(model={name: TEXT if text else SMALL[name]}, parts=[])
    problem = assemble(spec.changed(dataset="topics") if text else spec,
                       {} if text else {"data": fewest()}, cpu, None)  # fmt: skip
    task, (w, buffers), rows = problem.task, problem.fed.start, torch.arange(6)
    w = w + 0.02 * torch.randn_like(w)  # some weights start at 0, where ReLU has a kink

    def gradient(w):
        w = w.requires_grad_()
        z, _ = task.net.eval(Model(w, buffers), task.prepare(task.x[rows]))
        return torch.autograd.grad(F.cross_entropy(z, task.y[rows]), w)[0]

    v = torch.randn_like(w)
    with twice_differentiable():
        product = hessian(task, Model(w, buffers), rows) @ v
    wanted = (gradient(w + 1e-6 * v) - gradient(w - 1e-6 * v)) / 2e-6
    assert float((product - wanted).norm() / wanted.norm()) < 1e-7


def test_the_trace_and_the_density_are_those_of_the_dense_hessian():
    dense = case()[-1]
    H = TensorLinearOperator(dense)  # the products of `hessian` are these, as the test above says
    torch.manual_seed(0)
    assert trace(H, 300) == pytest.approx(float(dense.trace()), rel=0.1)
    eigenvalues = torch.linalg.eigvalsh(dense)
    found = [density(H, 30, 400) for _ in range(20)]
    mass = [float(torch.trapezoid(p, grid)) for grid, p, _ in found]
    assert np.mean(mass) == pytest.approx(1, abs=0.05)
    means = [float(torch.trapezoid(p * grid, grid)) for grid, p, _ in found]
    assert np.mean(means) == pytest.approx(float(eigenvalues.mean()), rel=0.25)
    size = np.mean([mean_abs for _, _, mean_abs in found])
    assert size == pytest.approx(float(eigenvalues.abs().mean()), rel=0.25)
    assert found[0][0][0] < eigenvalues[0]
    assert found[0][0][-1] > eigenvalues[-1]


def test_a_quadratic_by_hand(cpu):
    # ½ (w − a)² has the curvature 1 at every w; one weight: trace, top and mean are 1
    things = line_objects([[4.0], [-2.0]])
    problem = assemble(RunSpec(**LINE, clients=2), things, cpu, None)
    H = hessian(problem.task, problem.fed.start, torch.tensor([0, 1]))
    assert top_eigenvalue(H, 1e-3, 9, torch.ones(1, dtype=torch.float64)) == 1
    assert trace(H, 3) == 1


def test_two_classes_by_hand(cpu):
    # z = (u x, v x) at 0: H = p(1−p) x² (1, −1; −1, 1) = ¼ · 4 · (…): eigenvalues 0 and 2
    x, y = np.array([[2.0]]), np.array([1])
    things = objects() | {"model": nn.Linear(1, 2, bias=False)}
    nn.init.zeros_(things["model"].weight)
    things["data"] = replace(things["data"], x_train=x, y_train=y, x_test=x, y_test=y, classes=2)
    things["partition"] = blocks([1])
    problem = assemble(SPEC.changed(parts=[]), things, cpu, None)
    H = hessian(problem.task, problem.fed.start, torch.tensor([0]))
    dense = H @ torch.eye(2, dtype=torch.float64)
    assert torch.allclose(dense, torch.tensor([[1.0, -1], [-1, 1]], dtype=torch.float64))
    assert top_eigenvalue(H, 1e-3, 9, torch.ones(2, dtype=torch.float64)) == pytest.approx(2)


class Crowd:
    """Eigenvalues that hardly differ."""

    shape = (500, 500)

    def to_scipy(self):
        return aslinearoperator(np.diag(np.linspace(1, 1.001, 500)))


def test_a_flat_loss_has_no_curvature_and_no_density(cpu):
    sure = {"dataset": "toy", "model": "logistic", "clients": 2, "epochs": 5, "lr": 1e5}
    result = run(RunSpec(**sure, rounds=2, watch=["spectrum"]), machine=cpu)
    columns = ["hessian_top", "hessian_trace", "hessian_mean_abs"]
    assert list(result.history[columns].iloc[-1]) == [0, 0, 0]
    assert "spectrum" not in result.tables


def test_where_the_search_does_not_end_there_is_no_number():
    assert np.isnan(top_eigenvalue(Crowd(), 1e-14, 1, torch.ones(500, dtype=torch.float64)))


@dataclass(frozen=True)
class Zeros(Part):
    """Scores a model of zeros in place of x_{t+1}."""

    def evaluate(self, w, r):
        return {"zeros": torch.zeros_like(w)}


def test_the_probe_takes_the_model_that_is_scored_and_the_clients_samples(cpu):
    watch = [{"spectrum": {"samples": 100, "probes": 200, "steps": 30, "points": 300}}]
    spec = SPEC.changed(parts=[], rounds=2, watch=watch)
    things = objects() | {"partition": blocks([100]), "parts": (Zeros(),)}
    result = run(spec, machine=cpu, **things)
    problem = assemble(spec, things, cpu, None)
    zeros = Model(torch.zeros_like(result.weights), {})
    dense = hessian(problem.task, zeros, torch.arange(100)) @ torch.eye(39, dtype=torch.float64)
    first, last = (row for _, row in result.history.iterrows())
    eigenvalues = torch.linalg.eigvalsh(dense)
    assert np.isnan(first["hessian_top"])
    # at zeros the two eigenvalues of largest magnitude are λ and −λ, and either may be found
    assert float(eigenvalues[0]) == pytest.approx(-float(eigenvalues[-1]), rel=1e-9)
    assert abs(last["hessian_top"]) == pytest.approx(float(eigenvalues[-1]), rel=1e-3)
    # Hutchinson's variance: 2 (‖H‖² − Σ H_ii²) a vector
    sigma = (2 * (dense.square().sum() - dense.diag().square().sum()) / 200).sqrt()
    assert last["hessian_trace"] == pytest.approx(float(dense.trace()), abs=3 * float(sigma))
    table = result.tables["spectrum"]
    assert len(table) == 300
    assert table["eigenvalue"].max() > float(eigenvalues[-1])


def test_the_subset_is_the_same_for_every_method(cpu):
    rows = []
    for parts in ([], ["fedprox"]):
        spec = SPEC.changed(parts=parts, clients=3, validation=0.2)
        problem = assemble(spec, objects(), cpu, None)
        rows.append(Spectrum(samples=30).rows(problem))
    assert torch.equal(*rows)
    assert len(set(rows[0].tolist())) == 30
    held = torch.cat(problem.rows).tolist()
    assert set(rows[0].tolist()) < set(held)
    assert len(Spectrum().rows(problem)) == len(held)
