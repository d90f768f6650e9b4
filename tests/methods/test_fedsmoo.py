"""FedSMOO: both duals and the common step uphill by hand, invariants, and the NumPy reference."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fedbench.methods.feddyn import FedDyn
from fedbench.methods.fedsam import FedSAM
from fedbench.methods.fedsmoo import FedSMOO
from fedbench.methods.fedspeed import FedSpeed
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import close, final, train
from tests.methods.recording import Ledger, progress

EXTRA = [{"omit_last": True, "r": 0.03}, {"pull": "decay", "beta": 20.0}]
NEUTRAL = []  # no strength at which it is FedAvg, bit for bit

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0], [1.0, 1.5]]
RULES = {"epochs": 2, "batch": 2, "rounds": 6, "participation": 0.5, "lr_decay": 0.9}
each_pull = pytest.mark.parametrize("pull", ["gradient", "decay"])


def test_a_round_of_two_steps_by_hand():
    # w=1, target 0, lr 0.1, r=0.1, β=2. Uphill 0.1, μ = 0.1: y = 1 − 0.11 = 0.89. u = 0.89 − 0.1:
    # uphill 0.1, μ = 0.2: 0.99 + ½ (−0.11) = 0.935: y = 0.7965. λ_i = ½ 0.2035 = λ;
    # x = 0.7965 − 0.2035; μ − ŝ = 0.1: s = 0.1
    state = progress([[0.0]], 1.0, [FedSMOO(0.1, 2.0)], steps=2)
    assert close(state.clients[0][0]["mu"], 0.2)
    assert close(state.clients[0][0]["lam"], 0.10175)
    assert close(state.server[0]["lam"], 0.10175)
    assert close(state.server[0]["s"], 0.1)
    assert close(state.global_model.w, 0.593)


@each_pull
def test_a_second_round_by_hand(pull):
    # u = 0.593 − 0.2 − 0.1: uphill 0.1, μ = 0.2 + 0.1 − 0.1: 0.693 − 0.10175: y = 0.533875.
    # 0.633875 − 0.10175 + ½ (0.533875 − 0.593) = 0.5025625: y = 0.48361875.
    # λ = 0.10175 + ½ 0.10938125, x = 0.48361875 − 2 λ
    state = progress([[0.0]], 1.0, [FedSMOO(0.1, 2.0, pull=pull)], steps=2, rounds=2)
    assert close(state.clients[0][0]["mu"], 0.2)
    assert close(state.server[0]["lam"], 0.156440625)
    assert close(state.global_model.w, 0.48361875 - 0.31288125)


@pytest.mark.parametrize(
    ("omit_last", "s"),
    [
        (False, 0.0),  # after one step μ − ŝ = −s = 0
        (True, 0.1),
    ],
)
def test_after_one_step_only_the_released_code_has_a_common_step(omit_last, s):
    state = progress([[0.0]], 1.0, [FedSMOO(0.1, omit_last=omit_last)])
    assert close(state.server[0]["s"], s)


def test_clients_that_climb_in_opposite_directions_have_no_common_step():
    state = progress([[0.0], [2.0]], 1.0, [FedSMOO(0.1)], steps=2)
    assert [float(state.clients[i][0]["mu"]) for i in (0, 1)] == pytest.approx([0.2, -0.2])
    assert close(state.server[0]["s"], 0.0)


def test_the_common_step_has_length_r():
    s = reference.problem()
    for rounds in (1, 3):
        frames = kept(s, FedSMOO(0.3), rounds)
        assert float(frames["s"].norm()) == pytest.approx(0.3)


def kept(s, part, rounds):
    """What the server keeps after so many rounds of the reference's setting."""
    found = {}

    class Watched(type(part)):
        """Writes down what it keeps."""

        def evaluate(self, w, r):
            found.update(r.state)
            return {}

    trajectory(replace(s, rounds=rounds), (Watched(**vars(part)),))
    return found


def test_the_pull_is_clipped_with_the_gradient_or_stays_outside():
    # as FedDyn with α = ½: y = 3.8 and 3.415, see there; β λ = 4 − y
    for pull, y in (("gradient", 3.8), ("decay", 3.415)):
        part = FedSMOO(0.0, 2.0, pull=pull)
        result = train([[0.0]], 4.0, [part], steps=2, clip=1.0)
        assert abs(final(result) - (y + (y - 4))) < 1e-5


def test_the_ascent_knows_no_weight_decay():
    # wd ½ at w=1: uphill 1.1, step 1.1 + ½: y = 0.84, x = 0.84 − 0.16
    assert close(final(train([[0.0]], 1.0, [FedSMOO(0.1)], weight_decay=0.5)), 0.68)


@each_pull
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_without_ascent_it_is_feddyn(share, pull):
    rules = {**RULES, "participation": share, "clip": 1.0}
    dyn = train(CLIENTS, 1.0, [FedDyn(0.25, by_size=False, pull=pull)], **rules).weights
    smoo = train(CLIENTS, 1.0, [FedSMOO(0.0, 4.0, pull=pull)], **rules).weights
    torch.testing.assert_close(smoo, dyn, rtol=1e-10, atol=1e-10)
    up = train(CLIENTS, 1.0, [FedSMOO(0.1, 4.0, pull=pull)], **rules).weights
    assert not torch.allclose(up, dyn, rtol=1e-3)


def test_its_first_step_is_fedsams():
    smoo, sam = Ledger(), Ledger()
    train(CLIENTS, 1.0, [smoo, FedSMOO(0.3)], batch=1, steps=1)
    train(CLIENTS, 1.0, [sam, FedSAM(0.3)], batch=1, steps=1)
    assert torch.equal(smoo.rounds[0].models, sam.rounds[0].models)


def test_the_server_knows_the_mean_of_all_duals():
    for rounds in range(1, 6):
        state = progress(CLIENTS, 1.0, [FedSMOO()], **{**RULES, "rounds": rounds})
        duals = [state.clients[i][0]["lam"] for i in state.clients]
        assert rounds > 2 or len(duals) < len(CLIENTS), "an absent client counts as 0"
        assert close(state.server[0]["lam"], float(sum(duals)) / len(CLIENTS))


def test_rivals_are_refused(refuses):
    for other in (FedDyn(), FedSAM(), FedSpeed()):
        for parts in ([FedSMOO(), other], [other, FedSMOO()]):
            with refuses("cannot stand beside"):
                train(CLIENTS, parts=parts)


def twin(s, r, beta, omit_last):
    """Algorithm 1 of the paper, λ and all duals at the server; weight decay at y alone."""
    lam, mu = np.zeros((2, len(s.rows), *s.w0.shape))
    state = {"lam": np.zeros_like(s.w0), "s": np.zeros_like(s.w0)}

    def unit(u):
        return u / max(np.linalg.norm(u), 1e-300)

    def one_round(t, cohort, p, x):
        ys, tildes = [], []
        for i in cohort:
            y, hat = x, 0
            for rows in s.batches(t, i):
                hat = r * unit(s.gradient(y, rows) - mu[i] - state["s"])
                mu[i] += hat - state["s"]
                g = s.gradient(y + hat, rows) - lam[i] + (y - x) / beta
                y = y - s.eta(t) * (g + s.weight_decay * y)
            lam[i] -= (y - x) / beta
            ys.append(y)
            tildes.append(mu[i].copy() if omit_last else mu[i] - hat)
        state["lam"] = state["lam"] - sum(y - x for y in ys) / (beta * len(s.rows))
        state["s"] = r * unit(reference.mix(p, tildes))
        return reference.mix(p, ys) - beta * state["lam"]

    return reference.rounds(s, one_round)


@each_pull
@pytest.mark.parametrize("omit_last", [False, True])
@pytest.mark.parametrize(("r", "beta"), [(0.1, 10.0), (0.5, 3.0)])
def test_numpy_reference(r, beta, omit_last, pull):
    for by_samples in (False, True):
        s = reference.problem(by_samples=by_samples)
        got = trajectory(s, (FedSMOO(r, beta, omit_last, pull),))
        np.testing.assert_allclose(got, twin(s, r, beta, omit_last), rtol=1e-8, atol=1e-10)
