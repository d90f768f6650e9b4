"""MoFedSAM: FedSAM's gradient in FedCM's step, worked by hand, and the NumPy reference."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fedbench.methods.fedcm import FedCM
from fedbench.methods.fedsam import FedSAM
from fedbench.spec.compositions import compositions
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import close, final, train

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0]]
RULES = {"epochs": 2, "batch": 2, "rounds": 4, "participation": 0.67}


def mofedsam(rho, beta, gamma_s=1.0):
    return [FedSAM(rho), FedCM(beta, gamma_s)]


def test_it_has_its_name_and_its_papers_beta():
    assert [part.name for part in compositions()["MoFedSAM"].parts] == ["fedsam", "fedcm"]
    assert FedCM().alpha == 0.1


def test_two_rounds_by_hand():
    # w=1, target 0, ρ=0.1, β=½, lr 0.1, one step: v = ½ 1.1: y = 0.945; Δ = 0.55
    # v = ½ 1.045 + ½ 0.55 = 0.7975: y = 0.86525
    assert close(final(train([[0.0]], 1.0, mofedsam(0.1, 0.5))), 0.945)
    assert close(final(train([[0.0]], 1.0, mofedsam(0.1, 0.5), rounds=2)), 0.86525)


def test_the_step_uphill_is_along_the_gradient_not_along_the_mixture():
    # target 0, w=1: g(1.1) although ½ g + ½ Δ = −4 points the other way
    t = SimpleNamespace(msg={"delta": torch.tensor([-9.0], dtype=torch.float64)})
    sam, cm = mofedsam(0.1, 0.5)
    w = torch.ones(1, dtype=torch.float64)
    mixed = cm.grad(lambda w: sam.grad(lambda y: y, w, t), w, t)
    assert close(mixed, 0.5 * 1.1 - 4.5)


def test_without_uphill_it_is_fedcm_and_without_momentum_fedsam():
    cm, sam = (train(CLIENTS, 1.0, [part], **RULES).weights for part in (FedCM(0.3), FedSAM(0.2)))
    assert torch.equal(train(CLIENTS, 1.0, mofedsam(0.0, 0.3), **RULES).weights, cm)
    assert torch.equal(train(CLIENTS, 1.0, mofedsam(0.2, 1.0), **RULES).weights, sam)
    assert not torch.allclose(train(CLIENTS, 1.0, mofedsam(0.2, 0.3), **RULES).weights, cm)


def twin(s, rho, beta, eta_g):
    """The paper's algorithm: Δ is the mean move per step and unit of η; weight decay at y alone."""
    state = {"delta": np.zeros_like(s.w0)}

    def one_round(t, cohort, p, x):
        moves, mean = [], []
        for i in cohort:
            y, batches = x, s.batches(t, i)
            for rows in batches:
                g = s.gradient(y, rows)
                g = s.gradient(y + rho * g / np.linalg.norm(g), rows)
                v = beta * g + (1 - beta) * state["delta"]
                y = y - s.eta(t) * (v + s.weight_decay * y)
            moves.append(x - y)
            mean.append((x - y) / (s.eta(t) * len(batches)))
        state["delta"] = reference.mix(p, mean)
        return x - eta_g * reference.mix(p, moves)

    return reference.rounds(s, one_round)


@pytest.mark.parametrize(("rho", "beta", "eta_g"), [(0.1, 0.1, 1.0), (0.5, 0.6, 1.2)])
def test_numpy_reference(rho, beta, eta_g):
    for by_samples in (False, True):
        s = reference.problem(by_samples=by_samples)
        got = trajectory(s, tuple(mofedsam(rho, beta, eta_g)))
        np.testing.assert_allclose(got, twin(s, rho, beta, eta_g), rtol=1e-8, atol=1e-10)
