"""Users' own parts and modules, written in ways that are natural and used to go wrong."""

from collections import OrderedDict
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from fedbench import Dataset, Machine, Part, RunSpec, run
from fedbench.core.flat_network import Net
from fedbench.core.stacked_network import StackedNet
from fedbench.methods.fedprox import FedProx
from fedbench.models.architecture import BodyHead
from tests.methods.one_weight import line

CPU = Machine(device="cpu", workers=1)
SPEC = RunSpec(dataset="digits", clients=3, rounds=2, batch=None, lr=0.1)


class Counts(Part):
    """Counts a client's turns in place, in what it stores and in the model that it starts from."""

    def client(self, w, fed):
        return {"turns": torch.zeros(()), "start": w}

    def end(self, delta, t):
        t.state["turns"] += 1
        t.state["start"] += 1
        torch.rand(1)  # so that the first round is trained a second time, with seeds
        return delta * t.state["turns"] + 1e-3 * t.state["start"]


def test_a_part_may_change_what_it_stores_in_place():
    spec = SPEC.changed(watch=["steps"])  # which trains the clients once more
    result = run(spec, parts=(Counts(),), machine=CPU)
    plain = run(SPEC, parts=(Counts(),), machine=CPU)
    assert torch.equal(result.weights, plain.weights)


class Stores(Part):
    """Sends how many turns the client has had, counted in place."""

    def client(self, w, fed):
        return {"turns": torch.zeros(())}

    def end(self, delta, t):
        t.state["turns"] += 1
        torch.rand(1)
        return delta * 0 + t.state["turns"]


def test_a_turn_that_is_made_again_counts_once():
    # the update of each client is 1 in the first round and 2 in the second: x_2 = x_0 − 3
    spec = RunSpec(clients=1, rounds=2, lr=0.1)
    start = nn.Linear(1, 1, bias=False)
    first = float(start.weight)
    end = run(spec, data=line([1.0, 2.0, 3.0]), model=start, parts=(Stores(),), machine=CPU)
    assert float(end.weights) == pytest.approx(first - 3)


class Skips(BodyHead):
    """Does `act` between body and head, which neither of them holds."""

    def __init__(self, act):
        super().__init__(nn.Sequential(nn.Flatten(), nn.Linear(64, 8)), nn.Linear(8, 10))
        nn.init.zeros_(self.head.weight)  # so that first outputs are those of head(body(x))
        self.act = act

    def forward(self, x):
        return self.head(self.act(self, self.body(x)))


def drop_out(self, z):
    return nn.functional.dropout(z, 0.5, self.training)


@pytest.mark.parametrize("act", [lambda self, z: z.relu(), drop_out])
def test_a_module_that_is_more_than_its_body_and_head_is_refused(act, refuses):
    with refuses("'body' and 'head', but gives other outputs than head"):
        run(SPEC, model=Skips(act), machine=CPU)


class Own(nn.Linear):
    """A linear layer on digits that does `act` with itself and its inputs (B, 64)."""

    def __init__(self, act):
        super().__init__(64, 10)
        self.act, self.weights, self.mean = act, [self.weight, self.bias], torch.zeros(64)
        self.line = lambda x: nn.functional.linear(x, self.weight)

    def forward(self, x):
        return self.act(self, x.flatten(1))


def past_its_mean(self, x):
    if self.training:
        self.mean = x.detach().mean(0)
    return super(Own, self).forward(x - (0 if self.training else self.mean))


UNTRAINED = {
    "a list": (lambda self, x: nn.functional.linear(x, *self.weights), "reads a tensor of shape"),
    "a lambda": (lambda self, x: self.line(x) + self.bias, r"of shape \(10, 64\) past its layers'"),
    "no gradient": (lambda self, x: (x @ self.weight.T).detach(), "that have no gradient"),
    "evaluation": (past_its_mean, "gives other outputs in evaluation when it is called again"),
}


@pytest.mark.parametrize("case", UNTRAINED)
def test_a_module_whose_weights_or_statistics_would_not_be_trained_is_refused(case, refuses):
    act, words = UNTRAINED[case]
    with refuses(words):
        run(SPEC, model=Own(act), machine=CPU)


def test_weights_that_are_no_numbers_are_refused(refuses):
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    nn.init.constant_(model[1].bias, torch.nan)
    with refuses("Sequential has weights that are not finite"):
        run(SPEC, model=model, machine=CPU)


def test_a_loss_without_gradient_is_refused(refuses):
    with refuses("loss: gives float32 values without a gradient"):
        run(SPEC, loss=lambda z, y: (z.argmax(1) != y).float(), machine=CPU)


def test_inference_mode_around_a_run_is_of_no_matter():
    with torch.inference_mode():
        inside = run(SPEC, machine=CPU)
    assert torch.equal(inside.weights, run(SPEC, machine=CPU).weights)


def test_a_module_may_know_itself():
    model = Own(lambda self, x: super(Own, self).forward(x))
    model.parent = [model]
    assert run(SPEC, model=model, machine=CPU).status == "finished"


def test_arrays_may_run_backwards():
    given = line([1.0, 2.0, 3.0])
    turned = replace(given, x_train=given.x_train[::-1], y_train=given.y_train[::-1])
    spec = RunSpec(clients=1, rounds=1, lr=0.1)
    model = nn.Linear(1, 1, bias=False)
    ends = [
        run(spec, data=turned, partition=[np.array(rows)[::step]], model=model, machine=CPU)
        for rows, step in (([2, 1, 0], 1), ([0, 1, 2], -1))
    ]
    assert torch.equal(ends[0].weights, ends[1].weights)


class Writes(Part):
    """Changes what a hook is given; `hook`: which one."""

    def __init__(self, hook):
        self.hook = hook

    def server(self, w, fed):
        w.mul_(2)  # a copy of its own
        return {"m": torch.ones(())}

    def send(self, r):
        if self.hook == "send":
            r.w.mul_(0.5)
        return r.state

    def begin(self, w, t):
        return w.mul_(0.5) if self.hook == "begin" else w

    def end(self, delta, t):
        if self.hook == "end":
            t.msg["m"].mul_(0.5)
        return delta

    def evaluate(self, w, r):
        w.mul_(2)
        return {}


@pytest.mark.parametrize("hook", ["send", "begin", "end"])
def test_a_hook_that_changes_what_others_read_is_refused(hook, refuses):
    with refuses(f"Writes changes {'a message' if hook == 'end' else 'the global model'} in place"):
        run(SPEC, parts=(Writes(hook),), machine=CPU)


def test_a_hook_may_change_copies_of_its_own():
    ended = run(SPEC, parts=(Writes("none"),), machine=CPU)
    assert torch.allclose(ended.weights, run(SPEC, machine=CPU).weights)


class Centred(nn.Identity):
    """Mixes channels, though what it derives from does not."""

    def forward(self, x):
        return x - x.mean(1, keepdim=True)


def test_what_derives_from_a_layer_may_mix_channels_and_is_not_stacked():
    with pytest.raises(TypeError, match="Centred has no stacked form"):
        StackedNet(Net(nn.Sequential(nn.Conv2d(1, 4, 3), Centred(), nn.Flatten())))


class Shifts(nn.Sequential):
    """A tiny network with a constant of its own."""

    def __init__(self, name):
        super().__init__(nn.Flatten(), nn.Linear(64, 10))
        self.register_buffer(name, torch.ones(64))


def test_a_tiny_network_keeps_its_buffers():
    assert run(SPEC, model=Shifts("mean"), machine=CPU).buffers["mean"].tolist() == [1.0] * 64


def test_a_buffer_that_is_called_as_the_weights_are_is_refused(refuses):
    with refuses("has a buffer 'w'"):
        run(SPEC, model=Shifts("w"), machine=CPU)


def test_a_frozen_layer_is_no_obstacle():
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.Linear(8, 10))
    model[1].weight.requires_grad_(False)
    assert run(SPEC, model=model, machine=CPU).weights.shape == (8 + 8 * 10 + 10,)


class Double(Part):
    """Returns numbers of another precision."""

    def step(self, d, r):
        return d.double()


def test_a_hook_of_another_precision_is_told(refuses):
    with refuses(r"Double\.step returned torch.float64; it must return .* and torch.float32"):
        run(SPEC, parts=(Double(),), machine=CPU)


def test_two_shifts_of_a_name_would_draw_the_same(refuses):
    with refuses("shift has a name twice: noise, noise"):
        RunSpec(shift=["noise", "noise"])


class Forgets(Part):
    """Has no `return`."""

    def send(self, r):
        r.state.update(w=r.w)


def test_a_hook_without_return_is_named(refuses):
    with refuses(r"Forgets\.send returned None; it must return a dict of tensors"):
        run(SPEC, parts=(Forgets(),), machine=CPU)


class Alone(Part):
    """Trains one client, whatever the run says."""

    SETTINGS: ClassVar = {"clients": 1, "participation": 1.0}


def test_the_settings_of_a_part_without_a_name_hold():
    assert len(run(SPEC, parts=(Alone(),), machine=CPU).record["samples"]) == 1


def test_a_part_is_no_probe(refuses):
    with refuses("probes: FedProx is no probe"):
        run(SPEC, probes=(FedProx(0.1),), machine=CPU)


def test_a_sample_that_nobody_holds_acts_on_nobody():
    # clients with two samples and one train in step, and the shorter batch is filled up
    x = np.array([[3e20], [1], [2], [3]], dtype=np.float32)
    data = Dataset("line", x, x[:, 0], x[1:], x[1:, 0], classes=0)
    spec = RunSpec(clients=2, rounds=1, batch=2, lr=0.01)
    held = [np.array([1, 2]), np.array([3])]
    ended = run(spec, data=data, partition=held, model=nn.Linear(1, 1), machine=CPU)
    assert ended.status == "finished"


class Both(BodyHead):
    """Returns features too, as many released models do."""

    def forward(self, x):
        features = self.body(x)
        return self.head(features), features


def test_a_module_may_return_more_than_its_logits():
    model = Both(nn.Sequential(nn.Flatten(), nn.Linear(64, 8)), nn.Linear(8, 10))
    assert run(SPEC, model=model, machine=CPU).status == "finished"


def with_head(*layers):
    body, head = nn.Sequential(nn.Flatten(), nn.Linear(64, 8)), nn.Sequential(*layers)
    head.append(nn.Linear(8, 10))
    return nn.Sequential(OrderedDict(body=body, head=head))  # of PyTorch's own classes alone


def test_calibration_of_a_head_with_dropout_draws_from_the_seed():
    model = with_head(nn.Dropout(0.5))
    spec = SPEC.changed(watch=[{"calibration": {"epochs": 10, "lr": 1.0}}])
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)  # which must not matter
        ended = run(spec, model=model, machine=CPU)
        found.append(ended.history["personal_none"].iloc[-1])
    assert found[0] == found[1]


def test_calibration_of_a_head_with_statistics_is_refused(refuses):
    with refuses("calibration needs a trained classifier without batch norm"):
        spec = SPEC.changed(watch=["calibration"])
        run(spec, model=with_head(nn.BatchNorm1d(8)), machine=CPU)
