"""FedDyn: the dynamic pull, worked by hand, its invariants, and the NumPy reference."""

import numpy as np
import pytest
import torch

from fedbench.methods.feddyn import FedDyn
from fedbench.methods.fedprox import FedProx
from fedbench.methods.fedspeed import FedSpeed
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import DAMPENED, MOMENTUM, NESTEROV, close, final, train
from tests.methods.recording import Ledger, progress

EXTRA = [{"alpha": 0.1, "by_size": False}, {"alpha": 0.1, "pull": "decay"}]
NEUTRAL = []  # no strength at which it is FedAvg, bit for bit

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0], [1.0, 1.5]]
each_pull = pytest.mark.parametrize("pull", ["gradient", "decay"])
RULES = {"epochs": 2, "batch": 2, "rounds": 6, "participation": 0.5, "lr_decay": 0.9}


@each_pull
def test_two_rounds_by_hand(pull):
    # One client, α=½, lr 0.1, w=1, target 0, two steps. Round 1, u=0: 0.9; 0.9 + ½(0.9 − 1) = 0.85:
    # 0.815; u = −0.185; x = 0.815 − 0.185 = 0.63
    # Round 2: 0.63 + ½(−0.185) = 0.5375: 0.57625; 0.57625 + ½(0.57625 − 0.63 − 0.185) = 0.456875:
    # 0.5305625; u = −0.185 − 0.0994375 = −0.2844375; x = 0.5305625 − 0.2844375
    part = FedDyn(0.5, pull=pull)
    state = progress([[0.0]], 1.0, [part], steps=2, rounds=2)
    assert close(state.global_model.w, 0.246125)
    assert close(state.clients[0][0]["u"], -0.2844375)


def test_the_mean_of_the_trained_models_leads_and_the_next_one_stands_beside_it():
    row = train([[0.0]], 1.0, [FedDyn(0.5)], steps=2).history.iloc[0]
    assert row["loss"] == pytest.approx(0.815**2 / 2)
    assert row["loss[next]"] == pytest.approx(0.63**2 / 2)
    # weighed by samples at the server, still a plain mean here: y = 3.6 and 3.9
    clients = [[0.0, 0.0, 0.0], [3.0]]
    row = train(clients, 4.0, [FedDyn()], weights="samples").history.iloc[0]
    assert row["loss"] == pytest.approx((3 * 3.75**2 + 0.75**2) / 8)


def test_the_pull_is_clipped_with_the_gradient_or_stays_outside():
    # w=4, target 0, clip 1, α=½, two steps. gradient: 4 → 1: 3.9; 3.9 + ½(−0.1) → 1: 3.8
    # decay: 4 − ½·4 → 1, + ½·4: 3.7; 3.7 − 2 → 1, + 1.85: 3.415
    for pull, y in (("gradient", 3.8), ("decay", 3.415)):
        part = FedDyn(0.5, pull=pull)
        result = train([[0.0]], 4.0, [part], steps=2, clip=1.0)
        assert abs(final(result) - (y + (y - 4))) < 1e-5


def test_sizes_weigh_the_pull():
    # n = 3 and 1, mean 2: α_0 = ½ / 1.5, α_1 = ½ / 0.5; plain: ½ and ½. w=1, targets 0, two steps:
    # 0.9, then 0.9 + α (−0.1)
    for by_size, alphas in ((True, (1 / 3, 1.0)), (False, (0.5, 0.5))):
        ledger = Ledger()
        parts = [ledger, FedDyn(0.5, by_size=by_size)]
        train([[0.0] * 3, [0.0]], 1.0, parts, steps=2)
        wanted = [0.9 - 0.1 * (0.9 - 0.1 * alpha) for alpha in alphas]
        assert close(ledger.rounds[0].models, *wanted)


@pytest.mark.parametrize(("by_size", "optimum"), [(True, 0.25), (False, 0.5)])
@pytest.mark.parametrize("sgd", [{}, MOMENTUM, DAMPENED, NESTEROV], ids=str)
def test_the_fixed_point_solves_the_weighted_or_the_plain_objective(by_size, optimum, sgd):
    # targets 0 (three samples) and 1: the mean over samples is ¼, over clients ½
    part = FedDyn(1.0, by_size=by_size)
    lr = 0.2 if sgd else 0.4
    result = train([[0.0] * 3, [1.0]], 4.0, [part], steps=4, rounds=80, lr=lr, **sgd)
    assert abs(final(result) - optimum) < 1e-6


@each_pull
def test_the_first_rounds_local_training_is_fedprox(pull):
    rules = {**RULES, "rounds": 1, "weight_decay": 0.1, "momentum": 0.5}
    dyn, prox = Ledger(), Ledger()
    train(CLIENTS, 1.0, [dyn, FedDyn(0.3, by_size=False, pull=pull)], **rules)
    train(CLIENTS, 1.0, [prox, FedProx(0.3, pull=pull)], **rules)
    assert torch.equal(dyn.rounds[0].models, prox.rounds[0].models)


@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
def test_the_first_step_is_longer_by_the_participation(share):
    # x_1 − x_0 = (1 + m/K)(mean y − x_0)
    ledger = Ledger()
    rules = {**RULES, "rounds": 1, "participation": share}
    result = train(CLIENTS, 1.0, [ledger, FedDyn(0.3)], **rules)
    mean = float(ledger.rounds[0].models.mean())
    assert close(final(result) - 1, (1 + share) * (mean - 1))


def test_the_server_knows_the_mean_of_all_duals():
    for rounds in range(1, 6):
        state = progress(CLIENTS, 1.0, [FedDyn(0.3)], **{**RULES, "rounds": rounds})
        kept = [state.clients[i][0]["u"] for i in state.clients]
        assert rounds > 2 or len(kept) < len(CLIENTS), "an absent client counts as 0"
        assert close(state.server[0]["u"], float(sum(kept)) / len(CLIENTS))


def test_at_a_local_minimum_the_gradient_is_the_new_dual():
    # ∇F_i(y_i) = −α u_i
    ledger = Ledger()
    rules = {"steps": 10, "rounds": 3, "lr": 0.7}  # a step leaves 1 − 0.7 · 1.4 of the distance
    state = progress(CLIENTS, 1.0, [ledger, FedDyn(0.4, by_size=False)], **rules)
    for i, targets in enumerate(CLIENTS):
        gradient = float(ledger.rounds[-1].models[i]) - sum(targets) / len(targets)
        assert close(gradient, -0.4 * float(state.clients[i][1]["u"]))


def test_alpha_zero_is_not_fedavg():
    plain = train(CLIENTS, 1.0, **RULES).weights
    assert not torch.allclose(train(CLIENTS, 1.0, [FedDyn(0.0)], **RULES).weights, plain)


def test_two_corrections_by_duals_are_refused(refuses):
    for parts in ([FedDyn(), FedSpeed()], [FedSpeed(), FedDyn()]):
        with refuses("cannot stand beside"):
            train(CLIENTS, parts=parts)


def twin(s, alpha, by_size):
    """Acar et al. in the variables u_i; every client's u is kept at the server."""
    u = np.zeros((len(s.rows), *s.w0.shape))
    n = np.array([len(rows) for rows in s.rows])

    def one_round(t, cohort, p, x):
        ys = []
        for i in cohort:
            a = alpha / (n[i] / n.mean()) if by_size else alpha
            pull = lambda y, g, i=i, a=a: g + a * (y - x + u[i])  # noqa: E731
            ys.append(reference.descend(s, t, i, x, pull))
        for i, y in zip(cohort, ys, strict=True):
            u[i] += y - x
        return reference.mix(p, ys) + u.mean(axis=0)

    return reference.rounds(s, one_round)


@each_pull
@pytest.mark.parametrize("by_size", [False, True])
@pytest.mark.parametrize("alpha", [0.1, 0.01])
def test_numpy_reference(alpha, by_size, pull):
    for by_samples in (False, True):
        s = reference.problem(by_samples=by_samples)
        got = trajectory(s, (FedDyn(alpha, by_size, pull),))
        np.testing.assert_allclose(got, twin(s, alpha, by_size), rtol=1e-8, atol=1e-10)
