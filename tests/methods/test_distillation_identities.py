"""Identities between distillations (specification section 28, numbers 6, 7 and 11)."""

from dataclasses import replace

import numpy as np
import pytest
from torch import nn

from fedbench import Dataset, Machine, RunSpec, run
from fedbench.methods.asd import ASD
from fedbench.methods.feddistill import FedDistill
from fedbench.methods.fedgkd import FedGKD
from fedbench.methods.fedgkdvote import FedGKDVote
from fedbench.methods.fedntd import FedNTD
from fedbench.methods.selfconfidence import SelfConfidence
from tests.methods import reference
from tests.methods.loss_terms import held_out
from tests.methods.on_reference import trajectory

SHARE = 0.2  # held out for the vote


def problem(**changes):
    """The reference's setting, less the rows that are held out."""
    return held_out(SHARE, **changes)[0]


def frames(s, part, **settings):
    return trajectory(s, (part,) if part else (), validation=SHARE, **settings)


def same(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("coef", [0.1, 2.0])
@pytest.mark.parametrize("rules", [{}, {"clip": 0.1}, {"momentum": 0.5}], ids=str)
def test_06_fedgkd_of_one_model_is_uniform_asd_is_a_vote_of_one(coef, rules):
    s = problem()
    gkd = frames(s, FedGKD(coef, M=1), **rules)
    assert not np.allclose(gkd, frames(s, None, **rules), rtol=1e-4)
    same(gkd, frames(s, ASD(coef, tau=1.0, weights="uniform"), **rules))
    same(gkd, frames(s, FedGKDVote(coef, M=1), **rules))


def test_06_needs_a_teacher_in_round_one_and_no_factor():
    s = problem()
    gkd = frames(s, FedGKD(2.0, M=1))
    assert not np.allclose(gkd, frames(s, FedGKD(2.0, M=1, skip_first=True)), rtol=1e-4)
    hot = frames(s, FedGKD(2.0, M=1, T=2.0))
    assert not np.allclose(hot, frames(s, ASD(2.0, tau=2.0, weights="uniform")), rtol=1e-4)
    # the factor T² makes up for it
    same(hot, frames(s, ASD(8.0, tau=2.0, weights="uniform")))
    same(hot, frames(s, FedGKDVote(2.0, M=1, T=2.0)))


@pytest.mark.parametrize("beta", [0.3, 2.0])
def test_07_fedntd_is_uniform_asd_on_the_classes_not_true(beta):
    s = problem()
    ntd = frames(s, FedNTD(beta))
    assert not np.allclose(ntd, frames(s, None), rtol=1e-4)
    same(ntd, frames(s, ASD(beta, tau=1.0, divergence="ntd", weights="uniform")))
    assert not np.allclose(ntd, frames(s, ASD(beta, tau=1.0, divergence="ntd")), rtol=1e-4)
    # without τ² the ASD paper's FedNTD is this part too
    plain = frames(s, FedNTD(beta, tau=2.0, scale_tau=False))
    same(plain, frames(s, ASD(beta, divergence="ntd", weights="uniform")))


FROM_THE_GLOBAL_MODEL = [
    FedNTD(3.0),
    FedGKD(3.0, M=1),
    FedGKDVote(3.0, M=1),
    *(ASD(3.0, divergence=name) for name in ("kl", "reverse", "js", "ntd")),
    ASD(3.0, weights="uniform"),
]
ONE_STEP = {"epochs": 1, "batch": 100}


@pytest.mark.parametrize("part", FROM_THE_GLOBAL_MODEL, ids=str)
def test_11_one_step_is_fedavg(part):
    s = problem(**ONE_STEP)
    same(frames(s, part), frames(s, None))
    two = problem(**{**ONE_STEP, "epochs": 2})
    assert not np.allclose(frames(two, part), frames(two, None), rtol=1e-4)


@pytest.mark.parametrize(
    "part",
    [
        SelfConfidence(0.35),
        FedNTD(0.3, mix="convex"),
        FedGKD(3.0, M=2),
        FedGKDVote(3.0, M=2),
        FedDistill(3.0),
        ASD(3.0, divergence="ntd", literal=True),
    ],
    ids=str,
)
def test_11_is_not_for_other_targets(part):
    s = problem(**ONE_STEP)
    assert not np.allclose(frames(s, part), frames(s, None), rtol=1e-4)


def test_11_self_confidence_joins_where_every_client_has_one_class():
    s = reference.problem(**ONE_STEP, weight_decay=0.0)
    for i, rows in enumerate(s.rows):
        s.y[rows] = i % 4
    # p̂ = p̃: only (1−λ) CE moves the model
    shorter = replace(s, lr=0.65 * s.lr)
    same(trajectory(s, (SelfConfidence(0.35),)), reference.fedavg(shorter))


@pytest.mark.parametrize("part", ["fedgkd", "fedntd", "fedgkdvote"])
def test_outputs_of_one_class_are_refused(part, refuses):
    x, y = np.ones((40, 2), np.float32), np.zeros(40, np.int64)
    data = Dataset("one", x, y, x, y, classes=1)
    spec = RunSpec(clients=2, rounds=2, partition="iid", parts=[part], validation=SHARE)
    with refuses("it needs at least [12] classes"):
        run(spec, machine=Machine(device="cpu", workers=1), data=data, model=nn.Linear(2, 1))
