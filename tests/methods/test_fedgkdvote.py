"""FedGKD-Vote: the newest global models as teachers, weighed by their validation losses."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fedbench import RunSpec, run
from fedbench.core.part import Sizes
from fedbench.methods.fedgkdvote import FedGKDVote
from tests.methods.loss_terms import (
    agree,
    batch,
    cross_entropy_slope,
    held_out,
    model,
    softmax,
    tensor,
    term,
    train_with,
    turn,
)

EXTRA = [{"M": 1}, {"M": 2, "b": "buffered"}, {"M": 2, "buffer_from": "first_aggregate", "T": 2}]
NEUTRAL = [{"lam": 0}]
NEEDS = {"validation": 0.5}

log = math.log


def votes(part, losses):
    """γ/2 of every round, when the models x_0, x_1, … have these losses."""
    mine, found = start(part), []
    for t, loss in enumerate(losses):
        w = tensor([float(t)])
        r = SimpleNamespace(
            round=t, w=w, buffers={}, state=mine, validate=lambda m, loss=loss: tensor(loss)
        )
        message = part.send(r)
        sent = [float(message[str(m)]) for m in range(1, part.M)]
        assert sent == [max(float(t - m), 0.0) for m in range(1, part.M)]
        found.append(message["gamma"])
        mine = r.state
    return found


def start(part):
    """The server's state when x_0 = 0."""
    return part.server(tensor([0.0]), SimpleNamespace(start=model([0.0])))


def test_votes_by_hand():
    # M=2, b=½: −L/b = −1, −1 − log 3 → ¾ and ¼ of λ; the newest model first
    first, second, third = votes(FedGKDVote(0.1, M=2), [0.5 + 0.5 * log(3), 0.5, 0.5])
    torch.testing.assert_close(first, tensor([0.1, 0.0]))
    torch.testing.assert_close(second, tensor([0.075, 0.025]))
    torch.testing.assert_close(third, tensor([0.05, 0.05]))


@pytest.mark.parametrize("M", [1, 3, 5])
def test_votes_sum_to_lambda_and_are_equal_for_equal_losses(M):
    rng = np.random.default_rng(0)
    for b in ("nominal", "buffered"):
        found = votes(FedGKDVote(0.3, M=M, b=b), list(rng.uniform(0, 3, 8)))
        for vote in found:
            assert float(vote.sum()) == pytest.approx(0.3, rel=1e-12)
        equal = votes(FedGKDVote(0.3, M=M, b=b), [1.7] * 8)
        for t, vote in enumerate(equal):
            n = min(M, t + 1)
            torch.testing.assert_close(vote, tensor([0.3 / n] * n + [0.0] * (M - n)))


def test_the_temperature_is_one_over_the_nominal_or_the_buffered_count():
    # two of four models: L differs by ¼ log 3; with b=¼ the odds are 3, with b=½ √3
    losses = [1.0, 1.0 - 0.25 * log(3)]
    odds = [
        float(v[0] / v[1])
        for v in (votes(FedGKDVote(M=4, b=b), losses)[1] for b in ("nominal", "buffered"))
    ]
    assert odds == pytest.approx([3, math.sqrt(3)])


def test_with_aggregated_models_only_round_one_has_no_vote():
    found = votes(FedGKDVote(0.1, M=3, buffer_from="first_aggregate"), [9.0, 1.0, 1.0, 1.0])
    assert [v.tolist() for v in found[:2]] == [[0, 0, 0], [0.1, 0, 0]]
    torch.testing.assert_close(found[2], tensor([0.05, 0.05, 0]))
    torch.testing.assert_close(found[3], tensor([0.1 / 3] * 3))


def test_each_model_is_scored_once():
    scored = []
    part = FedGKDVote(M=3)
    mine = start(part)
    for t in range(5):
        r = SimpleNamespace(round=t, w=tensor([float(t)]), buffers={}, state=mine)
        r.validate = lambda m: scored.append(float(m.w)) or tensor(1.0)
        part.send(r)
        mine = r.state
    assert scored == [0, 1, 2, 3, 4]


def test_a_sample_by_hand():
    # teachers (¾, ¼) and (¼, ¾) with 0.075 and 0.025, the student (½, ½): both KL are equal
    kl = 0.75 * log(1.5) + 0.25 * log(0.5)
    b = batch([[0.0, 0.0]], [0], [[log(3), 0.0]])
    t = turn([1, 1], msg={"gamma": tensor([0.075, 0.025]), "1": tensor([[0.0, log(3)]])})
    assert float(term(FedGKDVote(M=2), b, t, value=7.0)) == pytest.approx(7 + 0.1 * kl, rel=1e-12)
    # only the older one differs from the student (¾, ¼): KL(¼, ¾ ‖ ¾, ¼) = ½ log 3
    b = batch([[log(3), 0.0]], [0], [[log(3), 0.0]])
    got = float(term(FedGKDVote(M=2), b, t))
    assert got == pytest.approx(0.025 * 0.5 * log(3), rel=1e-12)
    doubled = batch([[2 * log(3), 0.0]], [0], [[2 * log(3), 0.0]])
    t.msg["1"] = tensor([[0.0, 2 * log(3)]])
    assert float(term(FedGKDVote(M=2, T=2.0), doubled, t)) == pytest.approx(4 * got, rel=1e-12)
    plain = FedGKDVote(M=2, T=2.0, scale_t=False)
    assert float(term(plain, doubled, t)) == pytest.approx(got, rel=1e-12)


SHARE = 0.2  # of the samples is held out


def twin(s, out, lam, M, T=1.0, squared=True, buffered=False, aggregated=False):
    models, losses = [], []

    def see(x):
        q = softmax(s.x[out] @ x.T)
        models.append(x)
        losses.append(-np.log(q[np.arange(len(out)), s.y[out]]).mean())

    def dz(i, t, x, z, y, rows):
        if len(models) == t:
            see(x)
        first = 1 if aggregated else 0
        L = np.array(losses[first:][-M:])
        hats = np.exp(-L * (len(L) if buffered else M))
        g = cross_entropy_slope(z, y)
        for w, hat in zip(models[first:][-M:], hats, strict=True):
            away = softmax(z / T) - softmax(s.x[rows] @ w.T / T)
            scale = T**2 if squared else 1
            g = g + lam * hat / hats.sum() * scale * away / T / len(y)
        return g

    return train_with(s, dz)


@pytest.mark.parametrize("M", [1, 2, 5])
def test_numpy_reference(M):
    s, out = held_out(SHARE)
    agree(s, (FedGKDVote(2.0, M),), twin(s, out, 2.0, M), validation=SHARE)


def test_numpy_reference_with_options():
    s, out = held_out(SHARE)
    few = FedGKDVote(2.0, 4, b="buffered", T=2.0)
    agree(s, (few,), twin(s, out, 2.0, 4, 2.0, buffered=True), validation=SHARE)
    later = FedGKDVote(2.0, 3, buffer_from="first_aggregate", T=2.0, scale_t=False)
    want = twin(s, out, 2.0, 3, 2.0, squared=False, aggregated=True)
    agree(s, (later,), want, validation=SHARE)


def test_it_needs_held_out_data(refuses):
    with refuses("FedGKDVote needs held-out data"):
        run(RunSpec(parts=["fedgkdvote"]))


def test_cost():
    cost = FedGKDVote(M=3).cost(Sizes(d=10, classes=4, K=6, m=3, epochs=5, features=8))
    assert (cost.down, cost.up, cost.forward) == (2 * 10 + 3, 0, 3)
    assert cost.server_memory == 3 * 10 + 3
