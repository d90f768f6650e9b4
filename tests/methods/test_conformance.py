"""What holds for every method that is registered; a new file in methods/ is covered as it lands."""

import functools
import inspect
import json
import shutil
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
import torch
from torch import Tensor, nn

from fedbench import Machine, Part, RunSpec, run
from fedbench.base import registry
from fedbench.core.part import Sizes, overriding
from fedbench.core.part_conflicts import refuse_conflicts
from fedbench.engine.assemble import assemble, build_parts
from fedbench.engine.checkpoint import Progress
from fedbench.engine.local_round import local_round
from fedbench.engine.record import Result
from fedbench.engine.rounds import copies_for_parts, exchange, open_round, prepare
from fedbench.engine.training import Training
from fedbench.models.architecture import BodyHead
from fedbench.store import RunFolder
from tests.few import few_digits
from tests.methods.one_weight import line
from tests.methods.protocol import METHODS as ALL
from tests.methods.protocol import declared, mistakes

# Those that fix a run's clients are FedAvg of these, as their own tests say
METHODS = [name for name in ALL if not registry.find("method", name).constants.get("SETTINGS")]

# What is computed at the server alone takes long, and nothing here depends on how much of it
FEW = {"N": 3, "hidden": 16, "noise": 4}


def few(name, params):
    """The method with these parameters; what they leave open is little work at the server."""
    fields = registry.find("method", name).fields
    return {name: {k: v for k, v in FEW.items() if k in fields} | params}


CASES = [few(name, params) for name in METHODS for params in ({}, *declared(name, "EXTRA"))]
SETTINGS = {
    "dataset": "digits",
    "model": {"mlp": {"hidden": 8}},
    "partition": {"dy": {"alpha": 0.5}},
    **{"clients": 6, "participation": 0.5, "rounds": 3, "batch": 10, "validation": 0.5},
    **{"lr": 0.05, "lr_decay": 0.9, "momentum": 0.5, "weight_decay": 1e-3, "clip": 1.0},
    "precision": "float64",
}
CPU = Machine(device="cpu", workers=1)
THREADS = Machine(device="cpu", workers=2)  # which change no bit

# The run of a case is made once and shared by the tests that look at it.
every_case = pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=str(case)) for case in CASES],
)


def spec_of(*cases, **settings):
    names = [name for case in cases for name in ([case] if isinstance(case, str) else case)]
    return RunSpec(**{**SETTINGS, **needs_of(*names), "parts": list(cases), **settings})


def needs_of(*names):
    return {k: v for name in names for k, v in declared(name, "NEEDS").items()}


def problem_of(spec, machine=CPU, **objects):
    return assemble(spec, {"data": few_digits(), **objects}, machine, None)


def trained(spec, machine=CPU, **options):
    return run(spec, machine=machine, data=few_digits(), **options)


@functools.cache
def _empty_problem(settings, normed):
    objects = {"model": normed_net()} if normed else {}
    return problem_of(spec_of(**json.loads(settings)), THREADS, **objects)


def shared(*cases, normed=False, **settings):
    """The problem of `spec_of`: data, clients and network are made once for all methods.

    That they are those of a run that users start is what the test of equal seeds says.
    """
    spec = spec_of(*cases, **settings)
    needs = {**needs_of(*[part.name for part in spec.parts]), **settings}
    problem = _empty_problem(json.dumps(needs, sort_keys=True), normed)
    parts = build_parts(spec)
    refuse_conflicts(parts)
    return replace(problem, spec=spec, task=replace(problem.task, parts=parts))


@dataclass(frozen=True)
class Driven:
    """What came of a run, and all that it remembers: the models x_1 … x_T, and the last states."""

    result: Result
    models: list[Tensor]
    progress: Progress


def drive(problem, machine=CPU):
    engine, models = Training(problem, machine), []
    while not engine.over:
        engine.round()
        models.append(engine.progress.global_model.w)
    return Driven(engine.result(), models, engine.progress)


@functools.cache
def _driven(text):
    return drive(shared(json.loads(text)), THREADS)


def driven(case):
    """`drive` with the settings above, once for all tests: they only look at it."""
    return _driven(json.dumps(case))


def fedavg(name):
    """FedAvg with the same settings, those included that the method needs."""
    return _fedavg(json.dumps(needs_of(name)))


@functools.cache
def _fedavg(needs):
    return drive(shared(**json.loads(needs)))


def sequential(case):
    return any(part.sequential for part in build_parts(spec_of(case)))


def same_states(one, other, **tolerance):
    for a, b in zip(one, other, strict=True):
        assert set(a) == set(b)
        for name in a:
            torch.testing.assert_close(a[name], b[name], **tolerance)


@pytest.mark.parametrize("name", METHODS)
def test_its_test_file_declares_what_these_tests_read(name):
    assert mistakes(name) == []


@every_case
def test_clients_train_together_as_alone(together, case):
    alone, a = driven(case).result, driven(case).progress
    together(3)
    side = drive(shared(case))
    found, b = side.result, side.progress
    assert found.record["clients_at_once"] == (1 if sequential(case) else 3)
    sizes = alone.record["samples"]
    assert len({-(-n // 10) for n in sizes}) > 1, "clients must differ in steps"
    near = {"rtol": 1e-10, "atol": 1e-10}
    torch.testing.assert_close(found.weights, alone.weights, **near)
    same_states(a.server, b.server, **near)
    assert set(a.clients) == set(b.clients)
    for i in a.clients:
        same_states(a.clients[i], b.clients[i], **near)
    for column in ("loss", "accuracy", "train_loss", "floats_down", "floats_up"):
        assert list(found.history[column]) == pytest.approx(list(alone.history[column]), abs=1e-10)


class Stored(NamedTuple):
    """A run with a folder, and a copy of the folder as a kill in the second round leaves it."""

    result: Result
    folder: Path
    killed: Path


OFTEN = replace(CPU, checkpoint_minutes=1e-9, keep_model=True)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """`stored(case)`: its run as users start it, with a checkpoint after each round; made once."""

    @functools.cache
    def make(text):
        place = tmp_path_factory.mktemp("run")

        def copy(row):
            if row["round"] == 2:
                shutil.copytree(place / "whole", place / "killed")

        spec = spec_of(json.loads(text))
        result = trained(spec, OFTEN, out=place / "whole", watch=copy)
        return Stored(result, place / "whole", place / "killed")

    return lambda case: make(json.dumps(case))


@every_case
def test_same_seed_same_bits_other_seed_other_bits(case, stored):
    first, again = driven(case), stored(case).result
    assert torch.equal(first.result.weights, again.weights)
    history = first.result.history
    kept = [c for c in history if not c.endswith("_seconds")]
    assert history[kept].equals(again.history[kept])
    other = Training(problem_of(spec_of(case, seed=1)), CPU)
    other.round()
    assert not torch.equal(first.models[0], other.progress.global_model.w)


@pytest.mark.parametrize(
    "case",
    [few(name, params) for name in METHODS for params in declared(name, "NEUTRAL")],
    ids=str,
)
def test_neutral_strength_is_fedavg(case):
    plain, neutral = fedavg(*case).result, drive(shared(case)).result
    assert torch.equal(plain.weights, neutral.weights)
    scored = "loss[next]" if "loss[next]" in neutral.history else "loss"
    assert list(plain.history["loss"]) == list(neutral.history[scored])


@pytest.mark.parametrize("name", [n for n in METHODS if {} not in declared(n, "NEUTRAL")])
def test_a_method_with_its_defaults_is_not_fedavg(name):
    assert not torch.equal(driven({name: {}}).models[-1], fedavg(name).models[-1])


@every_case
def test_a_killed_run_resumes_to_the_same_bits(case, stored):
    whole = stored(case)
    assert {p.name for p in whole.killed.iterdir()} == {".lock", "checkpoint.pt"}
    seen = []
    resumed = trained(
        spec_of(case),
        replace(OFTEN, workers=2),
        out=whole.killed,
        watch=lambda row: seen.append(row["round"]),
    )
    assert seen == [2, 3]
    assert torch.equal(resumed.weights, whole.result.weights)
    files = {"rounds.parquet", "clients.parquet", "run.json", "model.safetensors"}
    folders = (whole.killed, whole.folder)
    for folder in folders:
        assert {p.name for p in folder.iterdir()} == files
    a, b = (RunFolder(folder).history() for folder in folders)
    kept = [c for c in a if not c.endswith("_seconds")]
    assert a[kept].equals(b[kept])
    clients = [pd.read_parquet(folder / "clients.parquet") for folder in folders]
    assert clients[0].equals(clients[1])
    model = [(folder / "model.safetensors").read_bytes() for folder in folders]
    assert model[0] == model[1]
    assert list(a["round"]) == [1, 2, 3]


@every_case
def test_states_keep_their_names_shapes_and_precision(case):
    progress, problem = driven(case).progress, shared(case)
    w, fed = problem.fed.start.w, problem.fed
    for part, state in zip(problem.task.parts, progress.server, strict=True):
        shapes_match(part.server(w, fed), state)
    for states in progress.clients.values():
        for part, state in zip(problem.task.parts, states, strict=True):
            shapes_match(part.client(w, fed), state)


def shapes_match(first, last):
    assert {k: (v.shape, v.dtype) for k, v in first.items()} == {
        k: (v.shape, v.dtype) for k, v in last.items()
    }
    assert not any(v.requires_grad for v in last.values())


@every_case
def test_declared_cost_is_what_was_counted(case):
    spec, result = spec_of(case), driven(case).result
    (part,) = build_parts(spec)
    d, turns = result.record["parameters"], 3 * spec.rounds
    cost = part.cost(Sizes(d=d, classes=10, K=6, m=3, epochs=1, features=8))
    row, progress = result.history.iloc[-1], driven(case).progress
    assert row["floats_down"] / turns == pytest.approx(d + cost.down)
    assert row["floats_up"] / turns == pytest.approx(d + cost.up)
    assert numbers(progress.server) == cost.server_memory
    assert {numbers(states) for states in progress.clients.values()} == {cost.client_memory}


def numbers(states):
    """How many numbers the parts of a run have stored."""
    return sum(value.numel() for state in states for value in state.values())


@every_case
def test_declared_passes_are_what_was_counted(case, monkeypatch):
    """Samples through the network, per sample trained on, in the turns of the last cohort."""
    problem, progress = shared(case), driven(case).progress
    (part,), d = problem.task.parts, problem.fed.d
    cost = part.cost(Sizes(d=d, classes=10, K=6, m=3, epochs=1, features=8))
    r = open_round(problem, progress.global_model, 2)
    copies = copies_for_parts(problem, r, progress.server)
    messages, kept = [part.send(copies[0])], next(iter(progress.clients.values()))
    passed = passes(problem.fed.net, monkeypatch)
    cohort = [prepare(problem, r, i, messages, kept) for i in r.clients]
    exchange(problem, copies, cohort)
    for client in cohort:
        local_round(problem.task, client)
    samples = sum(len(rows) for client in cohort for rows in client.rows)
    for way in {"forward", "backward"} - declared(next(iter(case)), "UNCOUNTED").keys():
        assert passed[way] / samples == pytest.approx(1 + getattr(cost, way)), way


def passes(net, monkeypatch):
    """Counts samples through this network from now on; the classifier's share is by its weights."""
    passed = Counter()
    head = float(net.head_mask().double().mean())

    def count(called, name, *values):
        outputs = called(net, *values)
        logits, share = (outputs, head) if name == "head" else (outputs[0], 1)
        passed["forward"] += share * len(logits)
        if logits.requires_grad:
            logits.register_hook(lambda _: passed.update(backward=share * len(logits)))
        return outputs

    for name in ("train", "eval", "head"):
        called = getattr(type(net), name)
        monkeypatch.setattr(net, name, functools.partial(count, called, name))
    return passed


@every_case
def test_training_a_client_alters_nothing_that_is_shared(case):
    """Two turns of one client give the same bits: no tensor is written in place."""
    if sequential(case):
        return  # hands its state on by design
    progress = driven(case).progress  # states that are not all zeros
    problem = shared(case)
    r = open_round(problem, progress.global_model, 1)
    copies = copies_for_parts(problem, r, progress.server)
    messages = [part.send(copy) for part, copy in zip(problem.task.parts, copies, strict=True)]
    kept = next(iter(progress.clients.values()))
    held = {"w": r.w, **{f"m{i} {k}": v for i, m in enumerate(messages) for k, v in m.items()}}
    held |= {f"c{i} {k}": v for i, m in enumerate(kept) for k, v in m.items()}
    before = {k: v.clone() for k, v in held.items()}
    names = [set(m) for m in messages]
    replies = []
    for _ in range(2):
        cohort = [prepare(problem, r, i, messages, kept) for i in r.clients]
        exchange(problem, copies, cohort)
        replies.append(local_round(problem.task, cohort[0]))
    assert torch.equal(replies[0].delta(r.w), replies[1].delta(r.w))
    same_states(replies[0].upload, replies[1].upload, rtol=0, atol=0)
    same_states(replies[0].state, replies[1].state, rtol=0, atol=0)
    assert all(torch.equal(held[k], before[k]) for k in held)
    assert [set(m) for m in messages] == names


@dataclass(frozen=True)
class Witness(Part):
    """Reads the mixing weights that were used."""

    p: list = field(default_factory=list)

    def evaluate(self, w, r):
        self.p.append(r.p)
        return {}


@every_case
def test_mixing_weights_sum_to_one(case):
    witness = Witness()
    problem = shared(case, weights="samples", steps=1)
    drive(replace(problem, task=replace(problem.task, parts=(*problem.task.parts, witness))))
    assert len(witness.p) == 3
    for p in witness.p:
        torch.testing.assert_close(p.sum(), torch.ones((), dtype=p.dtype))
        assert (p >= 0).all()


@every_case
def test_batch_norm_works_and_its_statistics_are_mixed(case):
    buffers, means, r = normed(case, steps=1), *plain_means()
    p = build_parts(spec_of(case))[0].weigh(r.p, r)
    assert all(v.isfinite().all() for v in buffers.values())
    near = {"rtol": 1e-3, "atol": 1e-6}
    # The statistics of the first layer, which has no weights before it, are those of the data
    wanted = sum(share * mean for share, mean in zip(p, means, strict=True))
    torch.testing.assert_close(first_norm(buffers, "running_mean"), wanted, **near)
    again = normed(case, steps=2)
    assert int(first_norm(again, "num_batches_tracked")) == 2


def first_norm(buffers, what):
    """A statistic of the first batch norm, wherever a projection head has put the body."""
    return next(value for name, value in buffers.items() if name.endswith(what))


BATCH_NORM = {
    **{"weights": "samples", "clients": 3, "participation": 1.0, "rounds": 1, "batch": 20},
}


@functools.cache
def normed_net():
    """A network with batch norm, of which a run takes a copy."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        body = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(64), nn.Linear(64, 9), nn.Tanh())
        return BodyHead(body, nn.Linear(9, 10))  # FedETF needs a feature less than classes


def normed(case, **settings):
    """The statistics after the only round of a run whose network has batch norm."""
    engine = Training(shared(case, normed=True, **BATCH_NORM, **settings), CPU)
    engine.round()
    return engine.progress.global_model.buffers


@dataclass(frozen=True)
class Starts(Part):
    """Put it last: it reads from which weights clients start, and the global model's."""

    seen: list = field(default_factory=list)

    def begin(self, w, t):
        self.seen.append((w, t.w))
        return w


@pytest.mark.parametrize("name", METHODS)
def test_who_lets_clients_start_at_other_weights_says_so(name):
    starts, problem = Starts(), shared(few(name, {}), normed=True, **{**BATCH_NORM, "rounds": 2})
    (part,) = problem.task.parts
    drive(replace(problem, task=replace(problem.task, parts=(part, starts))))
    assert part.starts_elsewhere == any(not torch.equal(w, x) for w, x in starts.seen)


@functools.cache
def plain_means():
    """Each client's running mean of the first batch norm after one plain step, and the round."""
    problem = shared(normed=True, **BATCH_NORM, steps=1)
    r = open_round(problem, problem.fed.start, 0)
    clients = [prepare(problem, r, i, [], []) for i in r.clients]
    replies = [local_round(problem.task, client) for client in clients]
    return [first_norm(reply.buffers, "running_mean") for reply in replies], r


@pytest.mark.parametrize("name", [name for name in METHODS if name != "asd"])
def test_a_method_works_beside_a_distillation(refuses, name):
    case = few(name, {})
    spec = spec_of(case, "asd")
    one, asd = build_parts(spec)
    if "asd" in one.excludes or name in asd.excludes or one.alone:
        with refuses("cannot stand beside"):
            trained(spec)
        return
    both = drive(shared(case, "asd")).models
    assert not torch.equal(driven(case).models[-1], both[-1])


@pytest.mark.parametrize("name", METHODS)
def test_a_method_overrides_a_hook_besides_those_of_its_states_and_cost(name):
    hooks = {k for k, v in vars(Part).items() if callable(v) and not k.startswith("_")}
    part = registry.build("method", name, {})
    assert any(overriding([part], hook) for hook in hooks - {"server", "client", "cost"})


@pytest.mark.parametrize("name", METHODS)
def test_on_labels_that_are_numbers_a_method_trains_or_needs_classes(refuses, name):
    (case,) = few(name, {}).items()
    spec = RunSpec(clients=2, lr=0.1, validation=0.5, projection=2, parts=[dict([case])])
    (part,) = build_parts(spec)
    model = BodyHead(nn.Linear(1, 2), nn.Linear(2, 1))
    objects = {"data": line([0.0, 1.0, 2.0, 3.0] * 2), "model": model}
    if part.needs_classes:
        with refuses(f"{type(part).__name__} needs classes"):
            run(spec, machine=CPU, **objects)
    else:
        assert run(spec, machine=CPU, **objects).status == "finished"
        source = inspect.getsource(type(part))
        assert not any(word in source for word in ("ops.kl", "t.labels", "r.fed.labels", "softmax"))
