"""Clients that train side by side: who with whom, the same results as alone, errors, threads."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from fedbench import Machine, Part, RunSpec, run
from fedbench.core.flat_network import Model, Net
from fedbench.core.stacked_network import StackedNet
from fedbench.engine import workers
from fedbench.engine.assemble import assemble
from fedbench.engine.batched_clients import has_bits_of_one
from fedbench.engine.training import Training
from fedbench.engine.workers import at_once, dealt, grouped, in_step, stacked_net, tiny

CPU = Machine(device="cpu", workers=1)
LENET = {"model": {"lenet5": {"padding": 2}}}
SMALL = {"clients": 6, "participation": 0.5, "rounds": 2, "lr": 0.1, "batch": 16, **LENET}


def task(**settings):
    return assemble(RunSpec(**settings), {}, CPU, None).task


# --- who trains with whom -----------------------------------------------------------------------


def test_groups_by_hand():
    assert grouped([5, 5, 5], 3) == [[0, 1, 2]]
    assert grouped([1, 9, 4, 9], 1) == [[1], [3], [2], [0]]  # those with most steps first
    assert grouped([1, 2, 3, 4, 5, 6], 4) == [[5, 4, 3], [2, 1, 0]]
    assert grouped([3] * 10, 4) == [[0, 1, 2], [3, 4, 5], [6, 7], [8, 9]]


def test_dealt_groups_by_hand():
    assert dealt([1, 9, 4, 8], 2, workers=2) == [[1, 2], [3, 0]]
    assert dealt([3] * 7, 3, workers=3) == [[0, 3, 6], [1, 4], [2, 5]]
    assert dealt([3] * 5, 2, workers=1) == [[0, 3], [1, 4], [2]]  # at most two at once
    assert dealt([3] * 2, 1, workers=4) == [[0], [1]]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.integers(1, 9), st.integers(1, 5))
def test_dealt_groups_hold_everyone_once(steps, largest, workers):
    groups = dealt(steps, largest, workers)
    assert sorted(i for group in groups for i in group) == list(range(len(steps)))
    assert all(1 <= len(group) <= largest for group in groups)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.integers(1, 50))
def test_groups_hold_everyone_once_and_are_of_equal_size(steps, largest):
    groups = grouped(steps, largest)
    assert sorted(i for group in groups for i in group) == list(range(len(steps)))
    sizes = [len(group) for group in groups]
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= largest
    assert len(groups) in (1, len(steps)) or len(groups) % 2 == 0
    ordered = [steps[i] for group in groups for i in group]
    assert ordered == sorted(steps, reverse=True)


def test_how_many_at_once_by_hand():
    # A 2×2 convolution of one 8×8 image to 3 channels: 7·7 places · 4 inputs · 3 outputs · 2
    # operations each = 1,176; a classifier of 147 inputs and 10 outputs: 2,940. With 500 samples
    # a step has 2,058,000 operations, of which 4e8 holds 194.
    body = nn.Sequential(nn.Conv2d(1, 3, 2), nn.Flatten())
    module = nn.Sequential(body, nn.Linear(147, 10))
    problem = assemble(RunSpec(), {"model": module}, CPU, None)
    assert at_once(problem.task, 500, 9) == 194
    assert at_once(problem.task, 10**9, 9) == 1


@pytest.mark.parametrize(
    ("settings", "together"),
    [
        (LENET, True),
        ({**LENET, "precision": "float64"}, False),
        ({**LENET, "precision": "bfloat16"}, False),
        ({"model": "mlp"}, True),  # matrix products alone, 9,610 weights
        ({"model": {"mlp": {"hidden": 3333}}}, True),  # 249,985 weights
        ({"model": {"mlp": {"hidden": 3334}}}, False),  # 250,060
        ({"model": "mlp", "parts": ["fedprox"]}, False),  # it reads every step
        ({"model": "mlp", "clip": 1.0}, False),
        ({"model": {"tinyvit": {"width": 0.125, "depth": 0.1, "side": 32}}}, False),
    ],
)
def test_which_networks_serve_several_clients_at_once(settings, together):
    assert (stacked_net(task(**settings), 16) is not None) == together


def test_the_record_says_how_many_clients_trained_at_once():
    assert run(RunSpec(**SMALL), machine=CPU).record["clients_at_once"] > 3
    alone = run(RunSpec(**SMALL | {"model": "mlp", "clip": 1.0}), machine=CPU).record
    assert alone["clients_at_once"] == 1


# --- one network at several weights -------------------------------------------------------------


def test_two_linear_layers_at_once_by_hand():
    # weights (2, 3) with bias 1, and (5, 7) with bias 0, at x = (1, 1): 6 and 12
    net = Net(nn.Linear(2, 1))
    models = [Model(torch.tensor(w), {}) for w in ([2.0, 3.0, 1.0], [5.0, 7.0, 0.0])]
    ones = torch.ones(1, 2)
    found = StackedNet(_sequential(net)).call("train", models, [ones, torch.cat([ones, 2 * ones])])
    assert [z.flatten().tolist() for z, _ in found] == [[6.0], [12.0, 24.0]]


def _sequential(net):
    return Net(nn.Sequential(net.module()))


def test_a_layer_that_stands_twice_in_a_network_has_one_weight():
    # x → a·(a·x), with a = 2 for one client and 3 for the other
    layer = nn.Linear(1, 1, bias=False)
    net = Net(nn.Sequential(layer, nn.Flatten(), layer))
    assert net.d == 1
    models = [Model(torch.tensor([w]), {}) for w in (2.0, 3.0)]
    found = StackedNet(net).call("train", models, [torch.ones(1, 1)] * 2)
    assert [logits.tolist() for logits, _ in found] == [[[4.0]], [[9.0]]]


class Mixing(nn.Module):
    """Mixes channels by itself, which no stacked form knows of."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Conv2d(1, 2, 3), nn.Linear(72, 10)

    def forward(self, x):
        return self.last(self.first(x).softmax(1).flatten(1))


def test_a_module_with_a_forward_of_its_own_is_not_trusted():
    with pytest.raises(TypeError, match="Mixing has no stacked form"):
        StackedNet(Net(Mixing()))
    problem = assemble(RunSpec(clients=2), {"model": Mixing()}, CPU, None)
    assert stacked_net(problem.task, 16) is None


class Joining(nn.Sequential):
    """Puts what its layers give behind their input."""

    def forward(self, x):
        return torch.cat([x, super().forward(x)], 1)


def test_a_sequential_with_a_forward_of_its_own_is_not_trusted():
    # Of two clients' inputs (a, b) side by side it would make (a, b, f(a), f(b)) in place of
    # (a, f(a), b, f(b)), and the next layer would give b to the first client.
    with pytest.raises(TypeError, match="Joining has no stacked form"):
        StackedNet(Net(nn.Sequential(Joining(nn.Conv2d(1, 1, 1)), nn.Conv2d(2, 1, 1))))


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(1, 2, 3, padding_mode="circular", padding=1),
        nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2, affine=False)),
        nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2, momentum=None)),
    ],
    ids=["circular", "without weights", "cumulative"],
)
def test_layers_with_options_that_have_no_stacked_form(layer):
    with pytest.raises(TypeError, match="has no"):
        StackedNet(Net(nn.Sequential(layer)))


def _ends(*layers):
    """A network of these layers on digits, from a convolution to ten classes."""
    return nn.Sequential(nn.Conv2d(1, 4, 3), *layers, nn.Flatten(), nn.LazyLinear(10))


@pytest.mark.parametrize(
    "layers",
    [
        [nn.Linear(6, 5)],  # of each row of each channel, (B, 4, 6, 6) → (B, 4, 6, 5)
        [nn.Flatten(2), nn.Linear(36, 5)],  # of each channel, (B, 4, 36) → (B, 4, 5)
        [nn.Flatten(), nn.GroupNorm(4, 144)],  # of vectors
        [nn.GroupNorm(2, 4, affine=False)],
    ],
    ids=["linear on images", "linear on channels", "norm of vectors", "norm without weights"],
)
def test_layers_that_are_given_what_they_have_no_stacked_form_for(layers):
    model = _ends(*layers)
    model(torch.zeros(1, 1, 8, 8))  # the last layer learns how many features there are
    spec = RunSpec(clients=3, rounds=1, batch=16)
    assert run(spec, machine=CPU, model=model).record["clients_at_once"] == 1


# --- training in step ---------------------------------------------------------------------------

TINY = {"clients": 6, "rounds": 2, "lr": 0.1, "batch": 16, "precision": "float64"}


def test_a_tiny_network_is_one_whose_weights_times_samples_are_few_by_hand():
    # digits: 64 inputs and 10 classes, so that 32 hidden units have 2,410 weights
    small = task(model={"mlp": {"hidden": 32}})
    assert tiny(small, 145)  # 349,450
    assert not tiny(small, 146)  # 351,860
    assert tiny(task(model={"mlp": {"hidden": 466}}), 1)  # 34,960 weights, as for 10 samples
    assert not tiny(task(model={"mlp": {"hidden": 467}}), 1)
    assert in_step(small, 8298)  # 19,998,180
    assert not in_step(small, 8299)  # 20,000,590
    assert [at_once(small, 10, cohort) for cohort in (1, 2, 7, 10, 32, 500)] == [1, 1, 4, 5, 16, 16]
    assert [at_once(small, 146, cohort) for cohort in (1, 7, 500)] == [1, 7, 16]  # one worker


in_many_ways = pytest.mark.parametrize(
    "settings",
    [
        {},
        {"epochs": 2, "batch": 5},
        {"steps": 7, "batch": 10},
        {"momentum": 0.9, "nesterov": True},
        {"momentum": 0.9, "weight_decay": 0.01},
        {"optimizer": "adam", "lr": 0.01},
        {"augment": {"crop": 1, "flip": 0.5}},
        {"parts": ["fednova", "slowmo"]},
        {"parts": ["fedgaonetrip"]},  # starts elsewhere, and keeps something of each turn
    ],
    ids=str,
)


@in_many_ways
def test_in_step_gives_the_weights_of_clients_alone(together, monkeypatch, settings):
    spec = RunSpec(**TINY | settings, partition={"dy": {"alpha": 0.5}})
    found = run(spec, machine=CPU)
    assert found.record["clients_at_once"] == 3
    assert len({-(-n // 16) for n in found.record["samples"]}) > 1, "clients must differ in steps"
    together(1)
    alone = run(spec, machine=CPU)
    torch.testing.assert_close(found.weights, alone.weights, rtol=1e-10, atol=1e-10)
    losses = [list(result.history["train_loss"]) for result in (found, alone)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-10)


@pytest.mark.parametrize("model", ["mlp", {"mlp": {"hidden": 1000}}], ids=str)
@pytest.mark.parametrize("count", [2, 4])
def test_in_step_any_number_of_workers_gives_the_same_bits(count, model):
    spec = RunSpec(**TINY | {"precision": "float32", "model": model})
    many = Machine(device="cpu", workers=count)
    assert torch.equal(run(spec, machine=CPU).weights, run(spec, machine=many).weights)


@in_many_ways
def test_in_step_larger_networks_keep_the_bits_of_clients_alone(together, settings):
    settings = TINY | {"batch": 12, "model": {"mlp": {"hidden": 1000}}} | settings
    spec = RunSpec(**settings | {"precision": "float32"}, partition={"dy": {"alpha": 0.5}})
    found = run(spec, machine=CPU)
    together(1)
    alone = run(spec, machine=CPU)
    assert torch.equal(found.weights, alone.weights)
    assert list(found.history["train_loss"]) == list(alone.history["train_loss"])


@in_many_ways
def test_in_step_larger_networks_have_the_weights_of_clients_alone(monkeypatch, together, settings):
    monkeypatch.setattr(workers, "has_bits_of_one", lambda *about: True)
    settings = TINY | {"batch": 12, "model": {"mlp": {"hidden": 1000}}} | settings
    spec = RunSpec(**settings, partition={"dy": {"alpha": 0.5}})
    found = run(spec, machine=CPU)
    assert found.record["clients_at_once"] == 6
    together(1)
    alone = run(spec, machine=CPU)
    torch.testing.assert_close(found.weights, alone.weights, rtol=1e-10, atol=1e-10)
    losses = [list(result.history["train_loss"]) for result in (found, alone)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-10)


@pytest.mark.parametrize("batch", [150, "full"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_in_step_clients_smaller_than_a_batch_keep_their_bits(together, count, batch):
    settings = TINY | {"precision": "float32", "model": {"mlp": {"hidden": 1000}}, "clients": 9}
    settings["batch"] = None if batch == "full" else batch
    spec = RunSpec(**settings, partition={"dy": {"alpha": 0.1}})
    found = run(spec, machine=Machine(device="cpu", workers=count))
    together(1)
    assert torch.equal(found.weights, run(spec, machine=CPU).weights)


@dataclass(frozen=True)
class Counting(Part):
    """Counts at each client how often it has begun."""

    def client(self, x, fed):
        return {"begun": torch.zeros(())}

    def begin_buffers(self, buffers, t):
        t.state = {"begun": t.state["begun"] + 1}
        return buffers


@pytest.mark.parametrize("model", ["mlp", {"mlp": {"hidden": 1000}}], ids=str)
def test_in_step_parts_begin_buffers_though_there_are_none(model):
    training = Training(
        assemble(RunSpec(**TINY | {"model": model}), {"parts": (Counting(),)}, CPU, None), CPU
    )
    training.round()
    state = training.progress.clients
    assert [float(state[i][0]["begun"]) for i in range(6)] == [1.0] * 6


@pytest.mark.parametrize("same", [True, False])
def test_in_step_larger_networks_go_where_one_step_shows_the_same_bits(monkeypatch, same):
    seen = []
    monkeypatch.setattr(workers, "has_bits_of_one", lambda *about: seen.append(about) or same)
    spec = RunSpec(**TINY | {"model": {"mlp": {"hidden": 1000}}, "epochs": 2, "batch": 100})
    result = run(spec, machine=CPU)
    assert result.record["clients_at_once"] == (6 if same else 1)
    assert {about[2:] for about in seen} <= {(100, 1), (100, 2), (100, 6)}
    assert seen


def test_one_step_shows_other_bits(monkeypatch):
    job = task(model={"mlp": {"hidden": 1000}})
    stacked = stacked_net(job, 16)
    if not has_bits_of_one(job, stacked, 16, 3):
        pytest.skip("this processor's libraries sum several clients in another order than one")
    plain = stacked.train_placed
    monkeypatch.setattr(stacked, "train_placed", lambda x: plain(x) * (1 + 1e-6))
    assert not has_bits_of_one(job, stacked, 16, 3)


def test_in_step_a_network_need_not_begin_with_a_flat_layer():
    model = nn.Sequential(nn.AvgPool2d(2), nn.Flatten(), nn.Linear(16, 10)).double()
    spec = RunSpec(**TINY)
    found = run(spec, machine=CPU, model=model)
    assert found.record["clients_at_once"] == 3
    alone = run(spec, machine=CPU, model=model, parts=(Reading(),))
    assert alone.record["clients_at_once"] == 1
    torch.testing.assert_close(found.weights, alone.weights, rtol=1e-10, atol=1e-10)


@dataclass(frozen=True)
class Reading(Part):
    """Reads each step and changes none, so that steps are made on the whole vector."""

    def move(self, step, w, t):
        return step


class Twice(nn.Module):
    """Uses one layer at two places."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(64, 64), nn.Linear(64, 10)
        self.again = self.first

    def forward(self, x):
        return self.last(self.again(self.first(x.flatten(1)).tanh()))


@pytest.mark.parametrize(
    "model",
    [
        {"mlp": {"hidden": 2000}},
        {"lenet5": {"padding": 2}},
        {"rn20": {"norm": "bn", "width": 0.25, "blocks": 1}},
        {"tinyvit": {"width": 0.125, "depth": 0.1, "side": 32}},
        None,
    ],
    ids=str,
)
def test_steps_in_place_have_the_bits_of_steps_on_the_whole_vector(together, model):
    settings, own = {"model": model}, {}
    if model:
        together(1)
    else:
        settings, own = {}, {"model": Twice()}
    spec = RunSpec(clients=2, rounds=2, batch=40, lr=0.05, momentum=0.5, **settings)
    place = run(spec, machine=CPU, **own)
    vector = run(spec, machine=CPU, parts=(Reading(),), **own)
    assert torch.equal(place.weights, vector.weights)
    assert not torch.equal(place.weights, run(spec.changed(seed=1), machine=CPU, **own).weights)
    for name, value in vector.buffers.items():
        assert torch.equal(place.buffers[name], value)


# --- training -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3, 5])
def test_any_size_gives_the_weights_of_clients_alone(together, size):
    settings = SMALL | {"participation": 1.0, "precision": "float64", "projection": 8, "steps": 3}
    settings["parts"] = ["fedsam", "moon"]
    spec = RunSpec(**settings, partition={"dy": {"alpha": 0.5}})
    together(1)
    alone = run(spec, machine=CPU)
    together(size)
    found = run(spec, machine=CPU)
    torch.testing.assert_close(found.weights, alone.weights, rtol=1e-10, atol=1e-10)


def test_short_batches_of_a_batch_norm_count_no_zeros(together):
    model = {"rn20": {"norm": "bn", "width": 0.25, "blocks": 1}}
    rows = [np.arange(16), np.arange(16, 30)]
    spec = RunSpec(model=model, clients=2, rounds=1, batch=16, precision="float64")
    together(1)
    alone = run(spec, machine=CPU, partition=rows)
    together(2)
    found = run(spec, machine=CPU, partition=rows)
    for name, value in alone.buffers.items():
        assert torch.equal(found.buffers[name], value)


@pytest.mark.parametrize("workers", [1, 2])
def test_any_number_of_workers_gives_the_same_bits_and_so_does_a_repetition(together, workers):
    together(2)
    spec = RunSpec(**SMALL | {"participation": 1.0}, parts=["scaffold"])
    first = run(spec, machine=CPU).weights
    again = run(spec, machine=Machine(device="cpu", workers=workers)).weights
    assert torch.equal(first, again)


@dataclass(frozen=True)
class Fragile(Part):
    """Fails at the second client's second step."""

    def grad(self, inner, w, t):
        if t.k == 1 and int(t.n) == 20:
            raise ArithmeticError("no gradient")
        return inner(w)


def test_an_error_of_one_client_ends_the_run_and_leaves_the_thread_as_it_was():
    rows = [np.arange(32), np.arange(40, 60), np.arange(60, 92)]
    spec = RunSpec(clients=3, rounds=1, batch=10, **LENET)
    assert torch.is_grad_enabled()
    with pytest.raises(ArithmeticError, match="no gradient"):
        run(spec, machine=CPU, partition=rows, parts=(Fragile(),))
    assert torch.is_grad_enabled()
    assert run(spec, machine=CPU, partition=rows).status == "finished"


@dataclass(frozen=True)
class GradMode(Part):
    """Notes whether hooks outside the loss would record gradients."""

    def move(self, step, w, t):
        t.scratch.setdefault("modes", []).append(torch.is_grad_enabled())
        return step

    def end(self, delta, t):
        t.upload["recorded"] = delta.new_tensor([float(any(t.scratch["modes"]))])
        return delta

    def step(self, d, r):
        assert r.mean("recorded").item() == 0
        return d


def test_hooks_outside_the_loss_record_no_gradient():
    spec = RunSpec(clients=3, rounds=1, batch=10, **LENET)
    assert run(spec, machine=CPU, parts=(GradMode(),)).status == "finished"
