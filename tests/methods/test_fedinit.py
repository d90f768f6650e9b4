"""FedInit: the relaxed start, worked by hand, its invariants, and the NumPy reference."""

import numpy as np
import pytest
import torch

from fedbench.methods.fedinit import FedInit
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import close, final, train
from tests.methods.recording import Ledger, progress

EXTRA = [{"beta": 0.5, "from_start": True}]
NEUTRAL = [{"beta": 0}, {"beta": 0, "from_start": True}]

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0], [1.0, 1.5]]
RULES = {"epochs": 2, "batch": 2, "rounds": 6, "participation": 0.5, "lr_decay": 0.9}
each = pytest.mark.parametrize("from_start", [False, True])


@each
def test_two_rounds_by_hand(from_start):
    # w=1, targets 0 and 4, lr 0.1, β=½: y = 0.9 and 1.3, x = 1.1. Starts 1.1 + ½ 0.2 = 1.2 and 1.0,
    # y = 1.2 − 0.12 and 1.0 + 0.3, x = 1.19. All take part, so the starts' mean is x
    part = FedInit(0.5, from_start)
    state = progress([[0.0], [4.0]], 1.0, [part], rounds=2)
    assert close(state.global_model.w, 1.19)
    assert [float(state.clients[i][0]["y"]) for i in (0, 1)] == pytest.approx([1.08, 1.3])


@pytest.mark.parametrize(
    ("from_start", "expected"),
    # one client a round, targets 4 and 0 in turn, β=½: y = 1 + 0.3 = x_1. The other one starts as
    # far beyond x_1 as x_0 lies before it, from 1.3 + ½ 0.3 = 1.45: y = 1.45 − 0.145
    [(False, 1.305), (True, 1.3 - 0.145)],
)
def test_a_first_turn_that_comes_late_starts_beyond_x_0(from_start, expected):
    ledger = Ledger()
    rules = {"rounds": 2, "participation": 0.5, "sampler": {"cyclic": {"groups": 2}}}
    parts = [FedInit(0.5, from_start), ledger]
    result = train([[0.0], [4.0]], 1.0, parts, **rules)
    assert [r.clients for r in ledger.rounds] == [[1], [0]]
    assert close(ledger.rounds[1].models, 1.305)
    assert close(final(result), expected)


@each
def test_a_client_starts_as_far_from_the_global_model_as_it_ended_on_the_other_side(from_start):
    ledger = Ledger()
    train(CLIENTS, 1.0, [FedInit(0.3, from_start), ledger], **{**RULES, "participation": 1.0})
    for now, then in zip(ledger.rounds[1:], ledger.rounds, strict=False):
        # the update that is uploaded tells the start: y + η Σ g
        sums = torch.stack([up["g"] for up in now.uploads])
        starts = now.models + now.lr * sums
        torch.testing.assert_close(starts - now.w, 0.3 * (now.w - then.models))


def test_with_everyone_the_released_code_is_the_paper():
    for weights in ("uniform", "samples"):
        rules = {**RULES, "participation": 1.0, "weights": weights}
        paper, released = (
            train(CLIENTS, 1.0, [FedInit(0.5, from_start)], **rules).weights
            for from_start in (False, True)
        )
        torch.testing.assert_close(paper, released, rtol=1e-10, atol=1e-12)
    paper, released = (
        final(train(CLIENTS, 1.0, [FedInit(0.5, from_start)], **RULES))
        for from_start in (False, True)
    )
    assert abs(paper - released) > 1e-3


def test_the_first_round_is_fedavgs():
    rules = {**RULES, "rounds": 1}
    plain = train(CLIENTS, 1.0, **rules).weights
    assert torch.equal(train(CLIENTS, 1.0, [FedInit(0.5)], **rules).weights, plain)


def twin(s, beta, from_start):
    """Algorithm 1; the server keeps every client's last model, as the released code does."""
    last = [s.w0] * len(s.rows)

    def one_round(t, cohort, p, x):
        starts = [x + beta * (x - last[i]) for i in cohort]
        for i, start in zip(cohort, starts, strict=True):
            last[i] = reference.descend(s, t, i, start, lambda y, g: g)
        ends = [last[i] for i in cohort]
        if from_start:
            return x + reference.mix(p, np.array(ends) - np.array(starts))
        return reference.mix(p, ends)

    return reference.rounds(s, one_round)


@each
@pytest.mark.parametrize("beta", [0.1, 0.8])
def test_numpy_reference(beta, from_start):
    for by_samples in (False, True):
        s = reference.problem(by_samples=by_samples)
        got = trajectory(s, (FedInit(beta, from_start),))
        np.testing.assert_allclose(got, twin(s, beta, from_start), rtol=1e-8, atol=1e-10)
