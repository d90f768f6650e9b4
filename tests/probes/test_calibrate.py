"""Classifier calibration: by hand, its invariants, and against a frozen body in plain PyTorch."""

import copy
import functools
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from fedbench import Dataset, Machine, Part, RunSpec, run
from fedbench.core.flat_network import Model
from fedbench.engine.assemble import assemble
from fedbench.engine.rounds import batches
from fedbench.methods.fedprox import FedProx
from fedbench.methods.selfconfidence import SelfConfidence
from fedbench.models.architecture import BodyHead
from fedbench.probes.classifier_calibration import Calibration, calibrate, shares
from fedbench.sampling.sampler import Uniform
from tests.methods.one_weight import blocks, close

SPEC = RunSpec(
    partition={"dy": {"alpha": 0.3}},
    **{"clients": 12, "participation": 0.5, "rounds": 8, "batch": 10, "lr": 0.1},
    **{"model": {"mlp": {"hidden": 16}}, "precision": "float64", "normalise": False},
)
CPU = Machine(device="cpu", workers=1)
KINDS = {"none": (), "prox": (FedProx(0.01),), "distil": (SelfConfidence(0.35),)}


@functools.cache
def trained():
    """(problem, x_T)."""
    result = run(SPEC, machine=CPU)
    return assemble(SPEC, {}, CPU, None), Model(result.weights, result.buffers)


@functools.cache
def calibrated(name="none", **how):
    return calibrate(*trained(), KINDS[name], Calibration(**how))


def full_model(problem, x_t, head):
    """The whole model as a module, with a client's classifier."""
    module, net = problem.task.net.module(), problem.task.net
    w = x_t.w.clone()
    w[net.head_mask()] = head
    nn.utils.vector_to_parameters(w, module.parameters())
    return module


# By hand


def by_hand(parts=(), settings=None, **how):
    """Features are the samples; both weights start at 0. Client 0 holds x=1 of class 0, client 1
    x=2 of class 1."""
    x, y = np.array([[1.0], [2.0]]), np.array([0, 1])
    head = nn.Linear(1, 2, bias=False, dtype=torch.float64)
    nn.init.zeros_(head.weight)
    spec = RunSpec(clients=2, batch=None, lr=0.1, precision="float64", **(settings or {}))
    objects = {"data": Dataset("two", x, y, x, y, 2), "model": BodyHead(nn.Identity(), head)}
    problem = assemble(spec, {**objects, "partition": blocks([1, 1])}, CPU, None)
    return calibrate(problem, problem.fed.start, parts, Calibration(**how))


def test_one_step_by_hand():
    # p = (½, ½): gradient (p − e_y) x = (−½, ½) · 1 and (½, −½) · 2; lr 0.1
    got = by_hand(epochs=1)
    assert close(got[1], 0.05, -0.05, -0.1, 0.1)
    # each client now gets its sample right; x_T, all zeros, says class 0 to both
    assert got[0]["accuracy"].tolist() == [1, 1]
    assert got[0]["global_accuracy"].tolist() == [1, 0]


def test_the_usual_work_is_two_epochs_at_the_runs_rate():
    # client 0's second step: logits (0.05, −0.05), p_0 = 1 / (1 + e^−0.1)
    step = 0.1 * (1 - 1 / (1 + np.exp(-0.1)))
    assert close(by_hand()[1][0], 0.05 + step, -0.05 - step)
    assert close(by_hand(epochs=1, lr=1.0)[1][0], 0.5, -0.5)


@dataclass(frozen=True)
class Rates(Part):
    """Reads the learning rate that parts are told."""

    seen: list = field(default_factory=list)

    def begin(self, w, t):
        self.seen.append(t.lr)
        return w


def test_the_rate_is_the_runs_first_for_parts_too():
    part = Rates()
    by_hand([part], settings={"lr_decay": 0.5})
    assert part.seen == [0.1, 0.1]


def test_the_proximal_term_by_hand():
    # μ = 2: the second gradient gains 2 · 0.05
    step = 0.1 * (1 - 1 / (1 + np.exp(-0.1)) - 2 * 0.05)
    assert close(by_hand([FedProx(2.0)])[1][0], 0.05 + step, -0.05 - step)


def test_the_distillation_by_hand():
    # a client of one class distils from x_T alone: p̂ = (½, ½), no gradient at the start; the CE
    # half of λ = ½ remains
    assert close(by_hand([SelfConfidence(0.5)], epochs=1)[1][0], 0.025, -0.025)


# Invariants


@pytest.mark.parametrize("name", KINDS)
def test_no_epoch_leaves_the_accuracy_of_the_global_model(name):
    got = calibrated(name, epochs=0)
    scored = got[0][got[0]["test_samples"] > 0]
    assert scored["accuracy"].tolist() == scored["global_accuracy"].tolist()


@pytest.mark.parametrize("name", KINDS)
def test_only_the_last_layer_is_trained(name):
    problem, x_t = trained()
    got, body = calibrated(name), ~problem.task.net.head_mask()
    before = x_t.w.clone()
    for head in got[1]:
        module = full_model(problem, x_t, head)
        w = nn.utils.parameters_to_vector(module.parameters()).detach()
        assert torch.equal(w[body], before[body])
        assert not torch.equal(w[~body], before[~body])
    assert torch.equal(x_t.w, before)
    assert got[1].shape == (12, 16 * 10 + 10)


@pytest.mark.parametrize("name", KINDS)
def test_accuracies_are_those_of_the_whole_model(name):
    problem, x_t = trained()
    got = calibrated(name)
    y = torch.as_tensor(problem.data.y_test)
    x = torch.as_tensor(problem.data.x_test).unsqueeze(1).double() / 255
    for i, share in enumerate(shares(problem, "mirrored")):
        row = got[0].iloc[i]
        assert row["test_samples"] == len(share)
        if len(share):
            module = full_model(problem, x_t, got[1][i])
            right = (module(x[share]).argmax(1) == y[share]).double().mean().item()
            assert row["accuracy"] == pytest.approx(right)


def test_a_strong_pull_leaves_the_classifier_within_one_step():
    # η μ = 1: y ← y − η g − (y − W_T) = W_T − η g(y): however many steps, one gradient away
    problem, x_t = trained()
    start = x_t.w[problem.task.net.head_mask()]
    pulled, free = (
        (calibrate(problem, x_t, parts)[1] - start).norm(dim=1)
        for parts in ([FedProx(1 / SPEC.lr)], [])
    )
    assert (pulled < 0.5 * free).all()
    spec = SPEC.changed(batch=None)
    one = assemble(spec, {}, CPU, None)
    once = calibrate(one, x_t, [], Calibration(epochs=1))[1]
    pulled = calibrate(one, x_t, [FedProx(1 / SPEC.lr)], Calibration(epochs=1))[1]
    assert torch.equal(once, pulled)  # at H = 1 the pull is 0: one plain step
    again = calibrate(one, x_t, [FedProx(1 / SPEC.lr)], Calibration(epochs=5))[1]
    assert ((again - start).norm(dim=1) < 1.5 * (once - start).norm(dim=1)).all()


def test_without_distillation_it_is_plain_calibration():
    got = calibrate(*trained(), [SelfConfidence(0.0)])
    assert torch.equal(got[1], calibrated("none")[1])
    assert not torch.equal(calibrated("distil")[1], calibrated("none")[1])
    assert not torch.equal(calibrated("prox")[1], calibrated("none")[1])


@pytest.mark.parametrize("name", KINDS)
def test_it_personalises(name):
    means = calibrated(name)[0][["accuracy", "global_accuracy"]].mean()
    assert means["accuracy"] - means["global_accuracy"] > 0.02


# Shares


def test_empty_shares_have_no_accuracy():
    problem, x_t = trained()
    got = calibrate(problem, x_t)
    sizes = [len(share) for share in shares(problem, "mirrored")]
    assert sum(sizes) == len(problem.data.y_test)
    few = copy.copy(problem.data)
    object.__setattr__(few, "x_test", problem.data.x_test[:8])
    object.__setattr__(few, "y_test", problem.data.y_test[:8])
    small = assemble(SPEC, {"data": few}, CPU, None)
    got = calibrate(small, x_t)
    empty = got[0]["test_samples"] == 0
    assert 0 < empty.sum() < 12
    assert got[0].loc[empty, "accuracy"].isna().all()
    assert got[0].loc[~empty, ["accuracy", "global_accuracy"]].notna().all(axis=None)


def test_test_shares_follow_the_training_shares_unless_drawn_independently():
    problem, _ = trained()
    y, counts = problem.data.y_test, problem.fed.labels.numpy()
    ours, theirs = (shares(problem, split) for split in ("mirrored", "independent"))
    assert all(
        set(y[share]) <= set(np.flatnonzero(row)) for share, row in zip(ours, counts, strict=True)
    )
    assert not all(
        set(y[share]) <= set(np.flatnonzero(row)) for share, row in zip(theirs, counts, strict=True)
    )
    for split in (ours, theirs):
        rows = np.concatenate(split)
        assert len(set(rows)) == len(rows)
    again = shares(assemble(SPEC.changed(lr=0.5), {}, CPU, None), "mirrored")
    assert all(np.array_equal(a, b) for a, b in zip(ours, again, strict=True))
    got = calibrate(*trained(), [], Calibration(test_split="independent"))
    assert got[0]["test_samples"].tolist() == [len(share) for share in theirs]


# Plain PyTorch


@pytest.mark.parametrize("norm", [False, True])
def test_plain_pytorch_with_a_frozen_body(norm):
    """Each client: the whole model, its body frozen and in eval mode, torch's own SGD."""
    rules = {"momentum": 0.5, "weight_decay": 0.01}
    model = {"rn20": {"norm": "bn", "width": 0.25, "blocks": 1}} if norm else SPEC.model
    spec = SPEC.changed(model=model, rounds=1, clients=4, participation=1.0, **rules)
    result = run(spec, machine=CPU)
    x_t = Model(result.weights, result.buffers)
    problem = assemble(spec, {}, CPU, None)
    got = calibrate(problem, x_t, [FedProx(0.3)], Calibration(lr=0.05))
    for i, rows in enumerate(problem.rows):
        module = full_model(problem, x_t, x_t.w[problem.task.net.head_mask()]).eval()
        for name, value in module.named_buffers():
            value.copy_(x_t.buffers[name])
        first = [p.detach().clone() for p in module.head.parameters()]
        sgd = torch.optim.SGD(module.head.parameters(), 0.05, **rules)
        for batch in batches(0, spec.rounds, i, rows, 10, 2, None):
            z = module(problem.task.prepare(problem.task.x[batch]))
            loss = F.cross_entropy(z, problem.task.y[batch])
            for p, start in zip(module.head.parameters(), first, strict=True):
                loss = loss + 0.15 * (p - start).square().sum()
            sgd.zero_grad()
            loss.backward()
            sgd.step()
        wanted = nn.utils.parameters_to_vector(module.head.parameters()).detach()
        torch.testing.assert_close(got[1][i], wanted, rtol=1e-9, atol=1e-11)


# What the run has and the classifier alone has not


def test_features_are_not_cropped_and_flipped():
    cropped = assemble(SPEC.changed(augment={"crop": 2}), {}, CPU, None)
    got = calibrate(cropped, trained()[1])
    assert torch.equal(got[1], calibrated("none")[1])


def test_weight_decay_that_spares_norms_acts_on_the_classifier():
    # a classifier has no norms: the same as decay everywhere, and not the same as none
    spec = SPEC.changed(model={"rn20": {"norm": "bn", "width": 0.25, "blocks": 1}}, batch=None)

    def heads(**rule):
        problem = assemble(spec.changed(**rule), {}, CPU, None)
        return calibrate(problem, problem.fed.start)[1]

    spared = heads(weight_decay=1.0, decay_norms=False)
    assert torch.equal(spared, heads(weight_decay=1.0))
    assert not torch.equal(spared, heads())


class Planned(Uniform):
    """Knows no round but the run's."""

    def __call__(self, rng, K, participation, labels, t):
        return [[0], [1]][t]


def test_the_runs_sampler_is_not_asked_for_a_round_that_it_does_not_have():
    problem, x_t = trained()
    planned = replace(problem, sampler=Planned(), spec=problem.spec.changed(rounds=2))
    assert calibrate(planned, x_t)[0]["accuracy"].notna().any()


def test_a_model_without_a_classifier_is_refused(refuses):
    x, y = np.ones((2, 1)), np.array([0, 1])
    objects = {"data": Dataset("two", x, y, x, y, 2), "model": nn.Linear(1, 2)}
    spec = RunSpec(clients=2)
    problem = assemble(spec, {**objects, "partition": blocks([1, 1])}, CPU, None)
    with refuses("needs a classifier"):
        Calibration().require(problem)
