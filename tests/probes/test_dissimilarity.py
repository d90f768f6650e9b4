"""Gradient dissimilarity by hand, against plain autograd, and as the probe writes it."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from fedbench import Machine, RunSpec, run
from fedbench.core.flat_network import Model
from fedbench.engine.assemble import assemble
from fedbench.probes import dissimilarity
from fedbench.probes.dissimilarity import Clients, quadratics, slopes
from tests.probes.test_probes import objects

SPEC = RunSpec(clients=3, precision="float64", partition={"dy": {"alpha": 1.0}}, rounds=2, steps=3)
CPU = Machine(device="cpu", workers=1)


def vector(*values):
    return torch.tensor(values, dtype=torch.float64)


def of(*pairs):
    clients = Clients()
    for loss, term in pairs:
        clients.add(vector(*loss), vector(*term))
    return clients


def test_two_clients_by_hand():
    # λ = 0: (1 + 1)/2 over ‖(½, ½)‖² = 2; λ = 1: (1, 1) and (0, 2): 3 over 2.5
    found = of(((1, 0), (0, 1)), ((0, 1), (0, 1)))
    assert found.at(0) == pytest.approx(2)
    assert found.at(1) == pytest.approx(1.2)
    assert found.at(1e6) == pytest.approx(1, abs=1e-5)  # the terms agree
    assert of(((1, 2), (3, 4)), ((1, 2), (3, 4))).at(7) == pytest.approx(1)


coordinates = st.lists(st.floats(-3, 3), min_size=4, max_size=4)


@given(st.lists(coordinates, min_size=1, max_size=5), st.floats(0, 50))
def test_it_is_never_below_one(clients, lam):
    pairs = [((a, b), (c, d)) for a, b, c, d in clients]
    mean = np.mean([np.add(a, lam * np.array(b)) for a, b in pairs], axis=0)
    if np.linalg.norm(mean) > 0.1:
        assert of(*pairs).at(lam) >= 1 - 1e-6


def case(part, normed=False):
    """(problem, x_t, a model elsewhere with its own norm buffers)."""
    problem = assemble(SPEC.changed(parts=part), objects(normed), CPU, None)
    torch.manual_seed(2)
    start = problem.fed.start
    buffers = {k: v + 0.2 if v.is_floating_point() else v for k, v in start.buffers.items()}
    return problem, start, Model(start.w + 0.3 * torch.randn_like(start.w), buffers)


def by_autograd(problem, client, model, x_t, lam, normalised):
    """∇(mean CE + λ Σ_j α_j KL(q_g ‖ q_k)) in plain PyTorch, equations 2 to 12 at τ = 2."""
    task, rows = problem.task, problem.rows[client]
    x, y = task.prepare(task.x[rows]), task.y[rows]
    teacher = (task.net.eval(x_t, x)[0] / 2).softmax(1)
    H = -(teacher * teacher.log()).sum(1)
    share = problem.fed.labels[client][y] / len(rows)
    alpha = (-H).exp() / share
    alpha = alpha / alpha.sum() if normalised else alpha / len(rows)
    w = model.w.clone().requires_grad_()
    z, _ = task.net.eval(Model(w, model.buffers), x)
    apart = F.kl_div((z / 2).log_softmax(1), teacher, reduction="none").sum(1)
    return torch.autograd.grad(F.cross_entropy(z, y) + lam * (alpha * apart).sum(), w)[0]


@pytest.mark.parametrize("normed", [False, True])
@pytest.mark.parametrize("weights", ["normalised", "unnormalised"])
def test_gradients_are_those_of_plain_pytorch(weights, normed, monkeypatch):
    monkeypatch.setattr(dissimilarity, "_CHUNK", 17)
    problem, x_t, model = case([{"asd": {"lam": 5.0}}], normed)
    wanted = [by_autograd(problem, i, model, x_t, 5.0, weights == "normalised") for i in range(3)]
    for i in range(3):
        _, loss, terms = slopes(problem, i, model, x_t)
        torch.testing.assert_close(loss + 5 * terms[weights], wanted[i])
    top = torch.stack([g @ g for g in wanted]).mean()
    mean = torch.stack(wanted).mean(0)
    found = quadratics(problem, model, x_t)[weights].at(5.0)
    assert found == pytest.approx(float(top / (mean @ mean)), rel=1e-9)


def test_at_the_global_model_lambda_makes_no_difference():
    problem, x_t, _ = case(["asd"])
    for quadratic in quadratics(problem, x_t, x_t).values():
        assert quadratic.at(50.0) == pytest.approx(quadratic.at(0.0), rel=1e-9)


def test_without_asd_it_is_that_of_the_base_losses():
    problem, x_t, model = case(["fedprox"])
    with_asd, _, _ = case(["asd"])
    found = quadratics(problem, model, x_t)
    assert set(found) == {"none"}
    wanted = quadratics(with_asd, model, x_t)["normalised"].at(0.0)
    assert found["none"].at(0.0) == pytest.approx(wanted)


def test_uniform_weights_need_no_scale():
    problem, x_t, model = case([{"asd": {"weights": "uniform"}}])
    one, other = quadratics(problem, model, x_t).values()
    assert one.at(10.0) == pytest.approx(other.at(10.0))


def watched(parts, **params):
    watch = [{"dissimilarity": {"lams": [0.0, 4.0], **params}}]
    return run(SPEC.changed(parts=parts, watch=watch), machine=CPU, **objects())


def test_the_probe_measures_the_mean_and_single_models_at_every_lambda():
    result = watched([{"asd": {"lam": 2.0}}])
    table = result.tables["dissimilarity"]
    assert len(table) == 3 * 2 * 3  # models, scalings, λ
    assert sorted(table["lam"].unique()) == [0, 2, 4]
    assert set(table["model"]) == {"mean", "client 0", "client 1"}
    kinds = dict(zip(table["model"], table["models"], strict=True))
    assert kinds == {"mean": "mean", "client 0": "single", "client 1": "single"}
    last = result.history.iloc[-1]
    at = table.set_index(["weights", "model", "lam"])["dissimilarity"]
    assert last["dissimilarity"] == at["normalised", "mean", 2]
    assert last["dissimilarity_unnormalised"] == at["unnormalised", "mean", 2]
    assert last["dissimilarity_base"] == at["normalised", "mean", 0]
    local = [at["normalised", f"client {i}", 2] for i in (0, 1)]
    assert last["dissimilarity_local"] == pytest.approx(np.mean(local))
    assert (table["dissimilarity"] >= 1).all()
    assert result.history["dissimilarity"].isna().tolist() == [True, False]


def test_the_mean_is_the_mean_of_the_cohort():
    # FedAvg with uniform weights: the mean of the clients' models is x_{t+1}
    result = watched([], clients=3)
    problem = assemble(SPEC, objects(), CPU, None)
    x_t = Model(result.weights, result.buffers)
    wanted = quadratics(problem, x_t, x_t)["none"].at(0.0)
    assert result.history["dissimilarity"].iloc[-1] == pytest.approx(wanted)
    assert set(result.tables["dissimilarity"]["lam"]) == {0}
    assert "dissimilarity_base" not in result.history
