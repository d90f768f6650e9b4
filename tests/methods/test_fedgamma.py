"""FedGAMMA is FedSAM and SCAFFOLD, in this order: by hand, its limits, and the NumPy reference."""

import numpy as np
import pytest
import torch

from fedbench import RunSpec
from fedbench.engine.assemble import build_parts
from fedbench.methods.fedsam import FedSAM
from fedbench.methods.scaffold import Scaffold
from fedbench.spec.compositions import compositions
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import close, train
from tests.methods.recording import progress

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0], [1.0, 1.5]]
RULES = {"epochs": 2, "batch": 2, "rounds": 6, "participation": 0.5, "lr_decay": 0.9}


def gamma(rho=0.01):
    """Its parts, with this length of the step uphill."""
    return FedSAM(rho), Scaffold()


def test_the_name_stands_for_these_parts():
    assert tuple(build_parts(RunSpec(**compositions()["FedGAMMA"].run_settings()))) == gamma()


def test_two_rounds_by_hand():
    # w=1, ρ=½, lr 0.1, one step. Target 0: uphill 1.5, y = 0.85, c_0 = 1.5. Target 1: g is 0, and
    # so is uphill: y = 1, c_1 = 0. x = 0.925, c = 0.75
    # Target 0, uphill 1.425: − 1.5 + 0.75: 0.675: 0.8575, c_0 = 1.425. Target 1: g = −0.075, uphill
    # 0.425: −0.575 + 0.75: 0.175: 0.9075, c_1 = −0.575
    state = progress([[0.0], [1.0]], 1.0, gamma(0.5), rounds=2)
    assert float(state.global_model.w) == pytest.approx(0.8825, rel=1e-9)
    assert [float(state.clients[i][1]["c"]) for i in (0, 1)] == pytest.approx([1.425, -0.575])
    assert float(state.server[1]["c"]) == pytest.approx(0.425)


def test_without_a_step_uphill_it_is_scaffold():
    scaffold = train(CLIENTS, 1.0, [Scaffold()], **RULES).weights
    assert torch.equal(train(CLIENTS, 1.0, gamma(0.0), **RULES).weights, scaffold)


def test_the_first_round_is_fedsams():
    rules = {**RULES, "rounds": 1, "weight_decay": 0.1}
    sam = train(CLIENTS, 1.0, [FedSAM(0.3)], **rules).weights
    assert torch.equal(train(CLIENTS, 1.0, gamma(0.3), **rules).weights, sam)


def test_the_direction_uphill_is_not_corrected():
    # In the other order a client would climb along g − c_i + c: target 1 of the example above
    # would go uphill by +½, along −0.075 + 0.75
    state = progress([[0.0], [1.0]], 1.0, gamma(0.5)[::-1], rounds=2)
    # Target 0: along 0.925 − 0.75, +½, 1.425 − 0.75: 0.8575. Target 1: 0.425 + 0.75: 0.8075
    assert close(torch.round(state.global_model.w, decimals=9), (0.8575 + 0.8075) / 2)


def twin(s, rho):
    """The paper's algorithm: SAM's gradient, corrected by c − c_i; c_i as SCAFFOLD's option II."""
    c, own = np.zeros_like(s.w0), [np.zeros_like(s.w0) for _ in s.rows]

    def one_round(t, cohort, p, x):
        nonlocal c
        ys, changes = [], 0
        for i in cohort:
            y, batches = x, s.batches(t, i)
            for rows in batches:
                g = s.gradient(y, rows)
                g = s.gradient(y + rho * g / np.linalg.norm(g), rows) + s.weight_decay * y
                y = y - s.eta(t) * (g - own[i] + c)
            new = own[i] - c + (x - y) / (len(batches) * s.eta(t))
            changes, own[i] = changes + new - own[i], new
            ys.append(y)
        c = c + changes / len(s.rows)
        return reference.mix(p, ys)

    return reference.rounds(s, one_round)


@pytest.mark.parametrize("rho", [0.01, 0.1, 0.7])
def test_numpy_reference(rho):
    for by_samples in (False, True):
        s = reference.problem(by_samples=by_samples)
        np.testing.assert_allclose(trajectory(s, gamma(rho)), twin(s, rho), rtol=1e-8, atol=1e-10)
