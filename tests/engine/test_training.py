"""The training loop through the public API, on problems worked by hand."""

import itertools
import math
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from fedbench import Dataset, Machine, Part, RunSpec, run
from fedbench.engine.assemble import assemble
from fedbench.engine.problem import classification, predictions
from fedbench.engine.rounds import batches, open_round
from fedbench.methods.fedprox import FedProx
from fedbench.methods.mfl import MFL
from tests.methods.one_weight import LINE, blocks, close, final, line, objects, train


@dataclass(frozen=True)
class Diary(Part):
    """Writes down who trained on what, and changes nothing."""

    cohorts: list = field(default_factory=list)
    steps: list = field(default_factory=list)
    rows: list = field(default_factory=list)

    def send(self, r):
        self.cohorts.append(list(r.clients))
        return {}

    def after(self, b, t):
        self.rows.append((t.round, b.y.tolist()))

    def step(self, d, r):
        self.steps.append(r.steps.tolist())
        return d


# --- aggregation --------------------------------------------------------------------------------


def test_fedavg_is_the_mean_of_the_clients_models():
    # w=4, gradients 2 and 6, lr 0.1 → y = 3.8 and 3.4 → mean 3.6
    assert close(final(train([[2.0], [-2.0]], w=4.0)), 3.6)


def test_weights_are_uniform_or_sample_counts():
    clients = [[2.0, 2.0, 2.0], [-2.0]]  # y = 3.8 with 3 samples, 3.4 with one
    assert close(final(train(clients, w=4.0)), 3.6)
    assert close(final(train(clients, w=4.0, weights="samples")), (3 * 3.8 + 3.4) / 4)


def test_only_the_cohort_is_averaged():
    # Each round one of two clients with targets 0 and 8 trains; lr 1 jumps onto its target.
    diary = Diary()
    result = train([[0.0], [8.0]], parts=[diary], lr=1.0, participation=0.5, rounds=12)
    assert {tuple(c) for c in diary.cohorts} == {(0,), (1,)}
    reached = [8.0 * cohort[0] for cohort in diary.cohorts]
    # test loss: the mean over both targets of ½ (w − a)² = 16, on either of them
    assert close(final(result), reached[-1])
    assert close(result.history["loss"], *[16.0] * 12)


@given(st.permutations(range(4)), st.sampled_from(["uniform", "samples"]))
@settings(max_examples=12, deadline=None)
def test_result_does_not_depend_on_the_order_of_clients(order, weights):
    clients = [[1.0], [2.0, 5.0], [-3.0, 0.5, 4.0], [7.0]]
    shuffled = [clients[i] for i in order]
    rules = {"weights": weights, "rounds": 3, "steps": 2}
    assert close(final(train(shuffled, **rules)), final(train(clients, **rules)))


def test_a_model_that_no_client_changes_stays():
    # every client's mean target is w = 3: all gradients are 0
    assert close(final(train([[3.0], [2.0, 4.0], [3.0]], w=3.0, rounds=5)), 3.0)


# --- local work ---------------------------------------------------------------------------------


def test_learning_rate_decays_from_round_to_round():
    # gradient w; rates 0.5, 0.25, 0.125: 1 · 0.5 · 0.75 · 0.875
    result = train([[0.0]], w=1.0, lr=0.5, lr_decay=0.5, rounds=3)
    assert close(result.history["eta"], 0.5, 0.25, 0.125)
    assert close(final(result), 0.328125)


@pytest.mark.parametrize(
    ("work", "steps"),
    [
        ({"steps": 3}, 3),
        ({"epochs": 2, "batch": 2}, 6),  # 5 samples: batches of 2, 2, 1, twice
        ({"batch": 5}, 1),
        ({"batch": 50}, 1),
        ({"steps": 7, "batch": 2}, 7),  # two passes and the first batch of a third
        ({"batch": None, "epochs": 4}, 4),
    ],
)
def test_local_work_is_epochs_or_steps(work, steps):
    diary = Diary()
    result = train([[0.0] * 5], w=1.0, parts=[diary], lr=0.5, **work)
    assert diary.steps == [[steps]]
    assert close(final(result), 0.5**steps)


def test_an_epoch_shows_every_sample_once_and_keeps_the_short_batch():
    diary = Diary()
    train([[1.0, 2.0, 3.0, 4.0, 5.0]], parts=[diary], batch=2, epochs=2)
    seen = [targets for _, targets in diary.rows]
    assert [len(targets) for targets in seen] == [2, 2, 1, 2, 2, 1]
    for one_pass in (seen[:3], seen[3:]):
        assert sorted(itertools.chain(*one_pass)) == [1, 2, 3, 4, 5]


@given(st.integers(1, 20), st.integers(1, 25), st.integers(1, 3))
@settings(max_examples=50, deadline=None)
def test_batches_cover_every_pass(n, size, epochs):
    rows = torch.arange(100, 100 + n)
    found = batches(0, 0, 0, rows, size, epochs, None)
    per_pass = -(-n // size)
    assert len(found) == epochs * per_pass
    for first in range(0, len(found), per_pass):
        one = torch.cat(found[first : first + per_pass])
        assert torch.equal(one.sort().values, rows)
    taken = batches(0, 0, 0, rows, size, None, per_pass + 1)
    assert len(taken) == per_pass + 1
    assert all(torch.equal(a, b) for a, b in zip(taken, found, strict=False))


def test_batches_are_a_function_of_seed_round_and_client():
    rows = torch.arange(50)
    here = [torch.cat(batches(*who, rows, 7, 1, None)) for who in [(0, 0, 0)] * 2]
    assert torch.equal(*here)
    for who in [(1, 0, 0), (0, 1, 0), (0, 0, 1)]:
        assert not torch.equal(here[0], torch.cat(batches(*who, rows, 7, 1, None)))


def test_full_batch_one_step_is_gradient_descent_on_all_data():
    # n_k weights: 3 steps on the mean of all six targets, 2.5: w ← w − 0.1 (w − 2.5)
    clients = [[1.0, 2.0, 3.0], [4.0], [6.0, -1.0]]
    result = train(clients, w=0.0, weights="samples", rounds=3)
    assert close(final(result), 2.5 * (1 - 0.9**3))


# --- one client is plain PyTorch ----------------------------------------------------------------


def cloud(classes=3, n=23):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(n, 4)).astype(np.float32)
    return Dataset("cloud", x, rng.integers(0, classes, n), x, rng.integers(0, classes, n), classes)


def by_hand(data, model, spec, make):
    """Plain torch.nn and torch.optim on the same batches; a new optimiser each round."""
    x, y = torch.as_tensor(data.x_train), torch.as_tensor(data.y_train)
    x = x.to(next(model.parameters()).dtype)
    for t in range(spec.rounds):
        optimiser = make(model.parameters(), spec.lr * spec.lr_decay**t)
        for rows in batches(spec.seed, t, 0, torch.arange(len(y)), spec.batch, 2, None):
            optimiser.zero_grad()
            F.cross_entropy(model(x[rows]), y[rows]).backward()
            if spec.clip:
                nn.utils.clip_grad_norm_(model.parameters(), spec.clip)
            optimiser.step()
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def network(precision):
    torch.manual_seed(3)
    model = nn.Linear(4, 3, bias=False)
    return model.double() if precision == "float64" else model


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"momentum": 0.9},
        {"momentum": 0.9, "nesterov": True},
        {"momentum": 0.7, "dampening": 0.3},
        {"weight_decay": 0.01},
        {"momentum": 0.9, "weight_decay": 0.01, "nesterov": True},
    ],
    ids=str,
)
def test_one_client_has_the_bits_of_torch_sgd(cpu, options, precision):
    data = cloud()
    spec = RunSpec(
        clients=1, rounds=3, epochs=2, batch=5, lr=0.1, lr_decay=0.9, precision=precision, **options
    )
    got = run(spec, machine=cpu, data=data, model=network(precision), partition=blocks([23]))
    want = by_hand(data, network(precision), spec, lambda p, lr: torch.optim.SGD(p, lr, **options))
    assert torch.equal(got.weights, want)


def test_one_client_with_clipping_is_torch_with_clip_grad_norm(cpu):
    data = cloud()
    spec = RunSpec(
        clients=1, rounds=2, epochs=2, batch=5, lr=0.5, clip=0.3, precision="float64", momentum=0.9
    )
    got = run(spec, machine=cpu, data=data, model=network("float64"), partition=blocks([23]))
    want = by_hand(
        data, network("float64"), spec, lambda p, lr: torch.optim.SGD(p, lr, momentum=0.9)
    )
    torch.testing.assert_close(got.weights, want, rtol=1e-13, atol=0)


@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_one_client_with_adam_is_torch_adam(cpu, decay):
    data = cloud()
    spec = RunSpec(
        **{"clients": 1, "rounds": 2, "epochs": 2, "batch": 5, "lr": 0.01, "precision": "float64"},
        **{"optimizer": "adam", "betas": (0.8, 0.99), "eps": 1e-3, "weight_decay": decay},
    )
    got = run(spec, machine=cpu, data=data, model=network("float64"), partition=blocks([23]))

    def adam(p, lr):
        return torch.optim.Adam(p, lr, (0.8, 0.99), 1e-3, decay)

    want = by_hand(data, network("float64"), spec, adam)
    torch.testing.assert_close(got.weights, want, rtol=1e-12, atol=1e-14)


def test_precision_is_the_runs_and_the_callers_model_is_left_alone(cpu):
    model = network("float64")
    before = model.weight.detach().clone()
    spec = RunSpec(clients=1, rounds=1, precision="float32")
    result = run(spec, machine=cpu, data=cloud(), model=model, partition=blocks([23]))
    assert result.weights.dtype == torch.float32
    assert model.weight.dtype == torch.float64
    assert torch.equal(model.weight, before)


def test_frozen_parameters_stay_and_are_not_in_the_vector(cpu):
    model = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
    nn.init.constant_(model[0].weight, 2.0).requires_grad_(False)
    nn.init.constant_(model[1].weight, 1.0)
    # z = 2 v, target 0: gradient 2 · 2 v = 4 v; v ← 1 − 0.1 · 4
    spec = RunSpec(clients=1, rounds=1, batch=None, lr=0.1, precision="float64")
    result = run(spec, machine=cpu, data=line([0.0]), model=model, partition=blocks([1]))
    assert close(result.weights, 0.6)
    assert close(result.history["loss"], 0.5 * 1.2**2)


# --- randomness ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ask(Part):
    """Moves by the full gradient, whose passes drop units too."""

    def ask(self, w, t):
        t.scratch["g"] = t.full_gradient(w)
        return {}

    def grad(self, inner, w, t):
        return inner(w) + t.scratch["g"]


def dropping():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 3))


def test_dropout_follows_the_seed_and_not_the_shared_generator(cpu):
    spec = RunSpec(clients=2, rounds=2, batch=4)
    share = {"data": cloud(), "partition": blocks([12, 11]), "machine": cpu}
    torch.manual_seed(1)
    first = run(spec, model=dropping(), **share).weights
    torch.manual_seed(2)
    assert torch.equal(run(spec, model=dropping(), **share).weights, first)
    other = run(spec.changed(seed=1), model=dropping(), **share).weights
    assert not torch.equal(other, first)
    model = dropping()
    before = torch.get_rng_state()
    asking = [run(spec, model=model, parts=(Ask(),), **share).weights for _ in range(2)]
    assert torch.equal(*asking)
    run(spec.changed(model="mlp"), **share)
    assert torch.equal(torch.get_rng_state(), before)  # a run leaves the shared generator alone


class Called(nn.Module):
    """Drops features by a function, of which no layer tells."""

    def __init__(self):
        super().__init__()
        self.last = nn.Linear(4, 3)

    def forward(self, x):
        return self.last(F.dropout(x, 0.5, self.training))


class Recurrent(nn.Module):
    """Reads each sample as four numbers in a row, with dropout inside its LSTM."""

    def __init__(self):
        super().__init__()
        self.read, self.last = nn.LSTM(1, 4, 2, batch_first=True, dropout=0.5), nn.Linear(4, 3)

    def forward(self, x):
        return self.last(self.read(x[..., None])[0][:, -1])


@pytest.mark.parametrize("kind", [Called, Recurrent])
def test_dropout_without_a_layer_of_its_own_follows_the_seed_too(kind):
    spec = RunSpec(clients=2, rounds=2, batch=4)
    share = {"data": cloud(), "partition": blocks([12, 11]), "model": kind()}
    results = []
    for shared_seed, workers in ((1, 1), (2, 2)):
        torch.manual_seed(shared_seed)
        results.append(run(spec, machine=Machine(device="cpu", workers=workers), **share))
    assert torch.equal(*(result.weights for result in results))
    assert results[1].record["one_worker_because"].startswith("dropout draws")


TWENTY = [[0.0]] * 20


def cohorts(rounds=40, **settings):
    """The cohorts of twenty clients as a run draws them; nobody trains."""
    spec = RunSpec(**{**LINE, "clients": 20, "rounds": rounds, **settings})
    problem = assemble(spec, objects(TWENTY), Machine(device="cpu", workers=1), None)
    return [open_round(problem, problem.fed.start, t).clients for t in range(rounds)]


@pytest.mark.parametrize("sampler", ["uniform", "bernoulli"])
def test_the_cohorts_that_are_drawn_are_those_that_train(sampler):
    diary, settings = Diary(), {"participation": 0.25, "sampler": sampler, "rounds": 10}
    train(TWENTY, parts=[diary], **settings)
    assert diary.cohorts == cohorts(**settings)


@pytest.mark.parametrize(("share", "size"), [(0.25, 5), (0.01, 1), (0.13, 3), (1.0, 20)])
def test_uniform_cohorts_have_one_size_and_no_client_twice(share, size):
    for cohort in cohorts(participation=share):
        assert len(set(cohort)) == len(cohort) == size
        assert cohort == sorted(cohort)
        assert set(cohort) <= set(range(20))


def test_uniform_cohorts_take_every_client_as_often():
    # 400 rounds of 5 out of 20: each client is expected 100 times with deviation 8.7
    counts = np.bincount(np.concatenate(cohorts(participation=0.25, rounds=400)), minlength=20)
    assert counts.min() > 60
    assert counts.max() < 140


def test_bernoulli_cohorts_are_never_empty_and_have_the_mean_rate():
    found = cohorts(participation=0.25, sampler="bernoulli", rounds=400)
    sizes = np.array([len(c) for c in found])
    assert sizes.min() >= 1
    assert len(set(sizes)) > 4
    assert abs(sizes.mean() - 5) < 0.4  # deviation of the mean of 400: √(20·¼·¾/400) ≈ 0.1
    rare = cohorts(participation=0.01, sampler="bernoulli")  # empty in 82 % of the draws
    assert min(len(c) for c in rare) == 1


def test_cohorts_and_batches_do_not_depend_on_the_method():
    clients = [[float(i), i + 0.5, i + 0.25] for i in range(6)]
    seen = []
    for parts in [(), (FedProx(0.5),), (MFL(0.9),)]:
        diary = Diary()
        train(clients, parts=[*parts, diary], participation=0.5, batch=2, rounds=4)
        seen.append((diary.cohorts, diary.rows))
    assert seen[0] == seen[1] == seen[2]


def test_the_seed_moves_cohorts_and_the_data_seed_does_not():
    base = cohorts(participation=0.25)
    assert cohorts(participation=0.25, data_seed=9) == base
    assert cohorts(participation=0.25, seed=1) != base


# --- outcome ------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", ["uniform", "samples"])
def test_the_training_loss_is_the_mean_of_the_clients_means(weights):
    # targets 0 and nine times 4 at w = 0: losses 0 and 8. Steps of one sample; clients count alike
    result = train([[0.0], [4.0] * 9], batch=1, lr=1e-12, weights=weights)
    assert close(result.history["train_loss"], (0 + 8) / 2)  # not 7.2, the mean over ten steps


def test_history_has_the_evaluated_rounds_and_the_last():
    rounds = []
    result = train(
        [[0.0]], w=1.0, rounds=7, eval_every=3, watch=lambda row: rounds.append(row["round"])
    )
    assert list(result.history["round"]) == rounds == [3, 6, 7]
    # lr 0.1 on ½ w²: w = 0.9^t and loss ½ · 0.81^t
    assert close(result.history["loss"], *[0.5 * 0.81**t for t in (3, 6, 7)])
    # the training loss of a round is measured before its step
    assert close(result.history["train_loss"], *[0.5 * 0.81 ** (t - 1) for t in (3, 6, 7)])
    # one weight down and up each round, evaluated or not
    assert list(result.history["floats_down"]) == list(result.history["floats_up"]) == [3, 6, 7]


def test_evaluating_more_often_changes_no_weight():
    rules = {"rounds": 6, "batch": 2, "participation": 0.5}
    clients = [[1.0, 2.0, 4.0], [3.0, 0.0], [5.0]]
    often, seldom = (train(clients, eval_every=n, **rules) for n in (1, 6))
    assert torch.equal(often.weights, seldom.weights)


def test_what_watch_does_to_a_row_stays_outside():
    result = train([[0.0]], w=1.0, rounds=2, watch=lambda row: row.clear())
    assert close(result.history["loss"], 0.5 * 0.81, 0.5 * 0.81**2)


def test_divergence_is_a_status_not_a_crash():
    # |1 − lr| = 99: w = 99^10 = 9.0e19 after ten rounds, and ½ w² is past float32's 3.4e38
    result = train([[0.0], [0.0]], w=1.0, lr=100.0, rounds=500, eval_every=50, precision="float32")
    assert result.status == result.record["status"] == "diverged"
    assert list(result.history["round"]) == [result.record["rounds"]] == [11]
    assert train([[0.0]], w=1.0).status == "finished"


def test_outputs_that_are_not_finite_hit_no_class_and_end_the_run():
    # of digits' 355 test images 35 or 36 show each class; a lost model names none of them
    result = run(RunSpec(clients=3, rounds=5, lr=1e35, eval_every=2))
    last = result.history.iloc[-1]
    assert not math.isfinite(last["loss"])
    assert (last["accuracy"], last["macro_f1"]) == (0, 0)
    z = torch.tensor([[2.0, 1.0], [math.nan, 0.0], [0.0, math.inf], [-math.inf, 0.0]])
    assert predictions(z).tolist() == [0, 2, 2, 2]
    scores = classification(predictions(z), torch.tensor([0, 0, 1, 1]), 2)
    # one of four hits; F1 of class 0 is 2·1/(1 named + 2 true), that of class 1 is 0
    assert scores["accuracy"] == 0.25
    assert scores["macro_f1"] == pytest.approx((2 / 3 + 0) / 2)


class Overflowing(nn.Module):
    """Its weights stay finite; its outputs on test data are not."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(10))

    def forward(self, x):
        z = self.w.expand(len(x), 10)
        return z if self.training else z * 3e38 * 10


def test_a_test_loss_that_is_not_finite_is_divergence():
    result = run(RunSpec(clients=3, rounds=5), model=Overflowing())
    assert (result.status, result.record["rounds"]) == ("diverged", 1)
    assert torch.isfinite(result.weights).all()


def test_a_diverged_run_leaves_its_files(cpu, tmp_path):
    spec = RunSpec(clients=3, rounds=5, lr=1e35, eval_every=2)
    result = run(spec, out=tmp_path / "run", machine=cpu)
    assert result.status == "diverged"
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == [
        "clients.parquet",
        "rounds.parquet",
        "run.json",
    ]


def test_accuracy_and_f1_are_of_the_test_set(cpu):
    # Logits (x, 0, 0): x > 0 is class 0, x < 0 class 1, and class 2 is neither true nor predicted.
    x = np.array([[1.0], [1.0], [-1.0], [-1.0]], np.float32)
    data = Dataset("signs", x, np.array([0, 1, 1, 1]), x, np.array([0, 1, 1, 1]), 3)
    model = nn.Linear(1, 3, bias=False)
    model.weight.data = torch.tensor([[1.0], [0.0], [0.0]])
    spec = RunSpec(clients=1, rounds=1, lr=1e-9, batch=None)
    result = run(spec, machine=cpu, data=data, model=model, partition=blocks([4]))
    row = result.history.iloc[0]
    assert row["accuracy"] == 0.75
    # class 0: 2·1/(2+1), class 1: 2·2/(2+3); class 2 does not count
    assert row["macro_f1"] == pytest.approx((2 / 3 + 4 / 5) / 2)


def test_held_out_rows_are_scored_and_never_trained_on(cpu):
    result = run(RunSpec(clients=4, rounds=1, validation=0.2), machine=cpu)
    assert {"val_loss", "val_accuracy"} <= set(result.history)
    assert sum(result.record["samples"]) <= 0.8 * 1442 + 10
    whole = run(RunSpec(clients=4, rounds=1), machine=cpu)
    assert "val_loss" not in whole.history
    assert sum(whole.record["samples"]) == 1440
