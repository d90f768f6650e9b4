"""Users' code that draws from shared generators: the same bits in every mode; no draw moves."""
# ruff: noqa: NPY002, S311  # users draw so

import os
import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from fedbench import Machine, Part, RunSpec, run
from fedbench.base import seeds
from fedbench.base.signals import Stopped
from fedbench.core.rng import GeneratorStates
from fedbench.engine import assemble, training
from fedbench.engine.checkpoint import Progress
from fedbench.engine.probe import Columns, Probe
from fedbench.engine.problem import UsersCode
from fedbench.sampling.sampler import Sampler
from tests.few import few_digits
from tests.methods.one_weight import train

SMALL = {
    "clients": 8, "participation": 0.5, "rounds": 3, "lr": 0.1, "batch": 30, "partition": "iid",
}  # fmt: skip
DRAWS = {
    "torch": lambda like: 0.01 * torch.randn_like(like),
    "numpy": lambda like: 0.01 * torch.as_tensor(np.random.randn(len(like)), dtype=like.dtype),
    "python": lambda like: torch.full_like(like, 0.01 * random.random()),
}


@dataclass(frozen=True)
class Noisy(Part):
    """Adds noise to each update, from round `first` to round `last`."""

    source: str = "torch"
    first: int = 0
    last: int = 9

    def end(self, delta, t):
        return delta + DRAWS[self.source](delta) if self.first <= t.round <= self.last else delta


@dataclass(frozen=True)
class NoisySteps(Part):
    """Noise in each step and in the extra exchange, so that clients' draws would interleave."""

    def ask(self, w, t):
        return {"noise": torch.randn(3)}

    def answer(self, asks, p, r):
        return {"noise": sum(ask["noise"] for ask in asks)}

    def move(self, step, w, t):
        return step * (1 + 0.1 * np.random.rand()) + 1e-3 * t.msg["noise"].sum()


@dataclass(frozen=True)
class NoisyServer(Part):
    """Draws at the server: its first state, its message, its step and the model it scores."""

    MODELS = ("noisy",)

    def server(self, w, fed):
        return {"v": torch.randn_like(w)}

    def client(self, w, fed):
        return {"c": torch.randn_like(w)}

    def send(self, r):
        return {"u": torch.randn_like(r.w)}

    def end(self, delta, t):
        return delta + 1e-3 * (t.msg["u"] + t.state["c"])

    def step(self, d, r):
        return d + 1e-3 * (r.state["v"] + float(np.random.rand()) + random.random())

    def evaluate(self, w, r):
        return {"noisy": w + 1e-3 * torch.randn_like(w)}


@dataclass(frozen=True)
class Counts(Part):
    """Takes longer steps each time that a client has taken part, and draws too."""

    def client(self, w, fed):
        return {"n": torch.zeros(())}

    def end(self, delta, t):
        t.state["n"] = t.state["n"] + 1
        return delta * (1 + t.state["n"]) + 1e-3 * torch.randn_like(delta)


@dataclass(frozen=True)
class Twice(Part):
    """Takes the gradient twice at the same weights and draws after each."""

    seen: list = field(default_factory=list)

    def grad(self, inner, w, t):
        one, between = inner(w), torch.rand(())
        other, after = inner(w), torch.rand(())
        self.seen.append((torch.equal(one, other), bool(between != after)))
        return other


class OwnDropout(nn.Module):
    """Dropout by `draw`, a function of a shape."""

    def __init__(self, draw):
        super().__init__()
        self.linear, self.draw = nn.Linear(64, 10), draw

    def forward(self, x):
        x = x.flatten(1)
        if self.training:
            x = x * torch.as_tensor(self.draw(tuple(x.shape)) < 0.8, dtype=x.dtype)
        return self.linear(x)


def _coin(shape):
    return np.reshape([random.random() for _ in range(int(np.prod(shape)))], shape)


def noisy_loss(z, y):
    """Labels are smoothed by a random amount."""
    return F.cross_entropy(z, y, reduction="none", label_smoothing=random.random() / 10)


LENET = {"model": {"lenet5": {"padding": 2}}}  # trains side by side
CASES = {
    "torch": ({}, {"parts": (Noisy("torch"),)}),
    "numpy": ({}, {"parts": (Noisy("numpy"),)}),
    "python": ({}, {"parts": (Noisy("python"),)}),
    "first alone": (LENET, {"parts": (Noisy(last=0),)}),
    "later": ({}, {"parts": (Noisy(first=1),)}),
    "steps": ({}, {"parts": (NoisySteps(),)}),
    "side by side": (LENET, {"parts": (NoisySteps(),)}),
    "server": ({}, {"parts": (NoisyServer(),)}),
    "model, numpy": ({}, {"model": OwnDropout(lambda shape: np.random.random(shape))}),
    "model, python": ({"parts": ["fedsam"]}, {"model": OwnDropout(_coin)}),
    "loss": ({}, {"loss": noisy_loss}),
}


def trained(case, workers=1, out=None, **more):
    settings, objects = CASES[case]
    machine = Machine(device="cpu", workers=workers, keep_model=True)
    return run(
        RunSpec(**SMALL | settings), data=few_digits(), out=out, machine=machine, **objects | more
    )


def same(one, other):
    kept = [name for name in one.history if not name.endswith("_seconds")]
    return torch.equal(one.weights, other.weights) and one.history[kept].equals(other.history[kept])


@pytest.mark.parametrize("case", CASES)
def test_three_times_and_with_any_number_of_workers_it_gives_the_same_bits(case):
    random.seed(1)
    torch.manual_seed(2)
    results = [trained(case, workers) for workers in (1, 1, 1, 2, 4)]
    assert all(same(results[0], other) for other in results[1:])


@pytest.mark.parametrize("case", ["first alone", "later", "server", "loss"])
def test_a_resumed_run_gives_the_same_bits(case, tmp_path):
    def stop(row):
        os.kill(os.getpid(), signal.SIGTERM)

    for _ in range(2):
        with pytest.raises(Stopped):
            trained(case, 2, out=tmp_path / "run", watch=stop)
    assert same(trained(case), trained(case, 2, out=tmp_path / "run"))


def test_a_turn_draws_from_its_clients_seed_by_hand():
    """Two rounds of one client: x_{t+1} = y − noise, and with lr → 0 y is x_t."""
    alone = {**SMALL, "clients": 1, "participation": 1.0, "rounds": 2, "lr": 1e-30}
    machine = Machine(device="cpu", workers=2)
    given = {"data": few_digits(), "model": nn.Sequential(nn.Flatten(), nn.Linear(64, 10))}
    after = run(RunSpec(**alone), parts=(Noisy(),), machine=machine, **given).weights
    start = torch.cat([p.detach().flatten() for p in given["model"].parameters()])
    wanted = start
    for t in (0, 1):
        drawn = torch.Generator().manual_seed(seeds.number(0, t, 0, "dropout"))
        wanted = wanted - 0.01 * torch.randn(650, generator=drawn)
    torch.testing.assert_close(after, wanted)


def test_the_round_in_which_code_is_found_to_draw_is_as_if_that_had_been_known(monkeypatch):
    CASES["found"] = {}, {"parts": (Counts(), NoisyServer())}
    found = trained("found", 2)
    monkeypatch.setattr(training, "Progress", partial(Progress, users_draw=True))
    assert same(found, trained("found", 2))


@pytest.mark.parametrize("draw", [torch.rand, lambda shape: np.random.random(shape)])
def test_dropout_is_the_same_at_each_gradient_of_a_step_and_what_is_drawn_after_is_not(draw):
    CASES["twice"] = {"rounds": 1}, {"parts": (Twice(seen := []),), "model": OwnDropout(draw)}
    trained("twice")
    assert seen
    assert set(seen) == {(True, True)}


def test_seeding_users_code_moves_no_dropout(monkeypatch):
    """A turn without users' code seeds torch's generators alone, as it did before there was any."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.Dropout(0.5), nn.Linear(16, 10))
    CASES["dropout"] = {"parts": ["fedsam"]}, {"model": model}
    seeded = trained("dropout")
    monkeypatch.setattr(assemble, "UsersCode", lambda acts: UsersCode(acts=False))
    assert same(seeded, trained("dropout"))


def test_a_run_leaves_the_shared_generators_alone():
    before = GeneratorStates.now(torch.device("cpu"))
    trained("server", 2)
    trained("steps", 2)
    assert GeneratorStates.now(torch.device("cpu")) == before


@dataclass(frozen=True)
class Draws(Probe):
    """Draws a number in every round."""

    TABLE: ClassVar[Columns] = {"number": ("number", "", "")}

    def table(self, s):
        return [{"number": float(torch.rand(()) + random.random())}]


@dataclass(frozen=True)
class Lottery(Sampler):
    """Draws two clients from NumPy's shared generator."""

    def __call__(self, rng, clients, participation, counts):
        return np.random.choice(clients, 2, replace=False)


def test_probes_draw_the_same_however_often_a_run_is_scored_and_move_no_training():
    def numbers(**settings):
        CASES["probe"] = settings, {"parts": (NoisyServer(),), "probes": (Draws(),)}
        return trained("probe")

    often, once = numbers(), numbers(eval_every=3)
    assert often.tables["draws"].equals(once.tables["draws"])
    assert often.tables["draws"].number.nunique() == 3
    assert torch.equal(often.weights, once.weights)
    assert torch.equal(often.weights, trained("server").weights)


def test_samplers_that_draw_by_themselves():
    CASES["sampler"] = {}, {"sampler": Lottery()}
    one, other = trained("sampler"), trained("sampler", 2)
    assert same(one, other)


def test_users_code_that_draws_trains_in_one_thread_and_the_record_says_why():
    record = trained("steps", 4).record
    assert (record["workers"], record["clients_at_once"]) == (1, 1)
    assert record["one_worker_because"].startswith("a part, or the model or loss, draws from")
    CASES["none"] = {}, {"parts": (Noisy(first=99),)}
    assert trained("none", 4).record["workers"] == 4


def test_a_default_dtype_that_was_set_before_changes_no_run():
    usual = trained("server")
    torch.set_default_dtype(torch.float64)
    try:
        assert same(usual, trained("server"))
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_runs_in_two_threads_wait_for_each_other():
    seen = []

    class Slow(Part):
        def step(self, d, r):
            seen.append(r.lr)
            time.sleep(0.02)  # in which another run would draw from the same generators
            return d

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda lr: train([[1.0]], parts=[Slow()], rounds=5, lr=lr), (0.1, 0.2)))
    assert len({*seen[:5]}) == len({*seen[5:]}) == 1
