"""Conventions 1 to 14 of docs/conventions.md, each worked by hand."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from torch import nn

from fedbench import Dataset, Machine, Part, RunSpec, run
from fedbench.core.flat_network import Model
from fedbench.methods.fedprox import FedProx
from fedbench.methods.mfl import MFL
from tests.methods.one_weight import blocks, close, final, line, train, weight


@dataclass(frozen=True)
class Hook(Part):
    """A part given as functions: Hook(step=lambda d, r: 2 * d)."""

    step: Callable = lambda d, r: d
    grad: Callable = lambda inner, w, t: inner(w)
    move: Callable = lambda step, w, t: step
    end: Callable = lambda delta, t: delta
    loss: Callable = lambda value, b, t: value


@dataclass(frozen=True)
class Other(Hook):
    """The same under another name, for two of them in one run."""


# --- 1 sign -------------------------------------------------------------------------------------


def test_convention_01_sign_a_delta_is_old_minus_new():
    # w=4, target 2, lr 0.1: y = 3.8, D = 4 − 3.8 = +0.2 and is subtracted from x
    seen = []
    watch = Hook(end=lambda delta, t: seen.append(float(delta)) or delta)
    assert close(final(train([[2.0]], w=4.0, parts=[watch])), 3.8)
    assert close(seen, 0.2)
    # a doubled global update moves twice as far: 4 − 2 · 0.2
    assert close(final(train([[2.0]], w=4.0, parts=[Hook(step=lambda d, r: 2 * d)])), 3.6)


def test_convention_01_sign_raw_and_received_updates_are_old_minus_new():
    @dataclass(frozen=True)
    class Receive(Part):
        seen: list = field(default_factory=list)

        def receive(self, delta, r):
            self.seen.append((r.i, float(delta), float(r.raw[r.i]), float(r.models[r.i])))
            return delta

    part = Receive()
    train([[2.0], [-2.0]], w=4.0, parts=[part])
    assert close(part.seen, *(0, 0.2, 0.2, 3.8), *(1, 0.6, 0.6, 3.4))


# --- 2 units ------------------------------------------------------------------------------------


def test_convention_02_units_the_rate_is_the_one_used_this_round():
    # D/η_t is the sum of this round's gradients, whatever the decay: gradient w at H = 1
    units = []

    def step(d, r):
        units.append((float(d) / r.lr, r.lr, float(r.w)))
        return d

    train([[0.0]], w=1.0, lr=0.5, lr_decay=0.5, rounds=3, parts=[Hook(step=step)])
    assert close([lr for _, lr, _ in units], 0.5, 0.25, 0.125)
    assert close([g for g, _, _ in units], 1.0, 0.5, 0.375)
    assert close([w for _, _, w in units], 1.0, 0.5, 0.375)


def test_convention_02_units_a_turn_and_its_round_have_one_rate():
    rates = []
    both = Hook(
        end=lambda delta, t: rates.append(t.lr) or delta,
        step=lambda d, r: rates.append(r.lr) or d,
    )
    train([[0.0]], parts=[both], lr_decay=0.5, rounds=3)
    assert rates == [0.1, 0.1, 0.05, 0.05, 0.025, 0.025]


# --- 3 unequal step counts ----------------------------------------------------------------------


@dataclass(frozen=True)
class PerStep(Part):
    """Uploads D / (η H), the average gradient, and the H and k it saw at the end."""

    steps: list = field(default_factory=list)
    ups: list = field(default_factory=list)

    def end(self, delta, t):
        t.upload["H"], t.upload["k"] = delta.new_zeros(1) + t.H, delta.new_zeros(1) + t.k
        return delta / (t.lr * t.H)

    def step(self, d, r):
        self.steps.append(r.steps.tolist())
        self.ups.append([(float(up["H"]), float(up["k"])) for up in r.uploads])
        return d


def test_convention_03_own_h_for_unequal_clients():
    # w=1, targets 0, batch 1, lr 0.5: client 0 makes one step (1 → ½), client 1 three (1 → ⅛)
    # D = ½ and ⅞; D/(ηH) = 1 and 7/12; x = 1 − (1 + 7/12)/2
    part = PerStep()
    result = train([[0.0], [0.0] * 3], w=1.0, parts=[part], batch=1, lr=0.5)
    assert part.steps == [[1.0, 3.0]]
    assert part.ups == [[(1.0, 1.0), (3.0, 3.0)]]
    assert close(final(result), 1 - (1 + 7 / 12) / 2)


# --- 4 order inside a step ----------------------------------------------------------------------


def test_convention_04_order_clip_comes_before_weight_decay():
    # w=4, target −6: g = 10, clipped to 1 (10/(10 + 1e-6)), + 0.5 · 4 = 3 → 4 − 0.3
    result = train([[-6.0]], w=4.0, clip=1.0, weight_decay=0.5)
    assert abs(final(result) - 3.7) < 1e-7
    # the other order would clip 12 to 1: 3.9


def test_convention_04_order_inner_gradients_have_no_weight_decay():
    def double(inner, w, t):
        return 2 * inner(w)

    # w=4, target 2: g = 2, doubled 4, + 0.5 · 4 = 6 → 3.4; decay inside would give 2 · 4 = 8
    result = train([[2.0]], w=4.0, parts=[Hook(grad=double)], weight_decay=0.5)
    assert close(final(result), 3.4)


def test_convention_04_order_gradient_terms_are_clipped_with_the_rest():
    # g = 0, the part adds 100, clip 1 → step 1
    push = Hook(grad=lambda inner, w, t: inner(w) + 100)
    result = train([[4.0]], w=4.0, parts=[push], clip=1.0)
    assert abs(final(result) - 3.9) < 1e-6


def test_convention_04_order_move_comes_after_the_buffer():
    # Constant gradient −1 would need a linear loss; here w=1, target 0, momentum ½, lr 0.1, H=2.
    # k=0: v = 1, step 1 + 1 → w = 0.8; k=1: v = ½·1 + 0.8 = 1.3, step 2.3 → 0.57
    # with the 1 inside the buffer: v = 2, then 1 + 0.8 + 1 = 2.8 → 0.52
    push = Hook(move=lambda step, w, t: step + 1)
    result = train([[0.0]], w=1.0, parts=[push], steps=2, momentum=0.5)
    assert close(final(result), 0.57)


def test_convention_04_order_loss_terms_are_inside_the_gradient_terms():
    # loss tripled: gradient 3 · 2 = 6; then the gradient part adds 1: 7 → 4 − 0.7
    part = Hook(loss=lambda value, b, t: 3 * value, grad=lambda inner, w, t: inner(w) + 1)
    assert close(final(train([[2.0]], w=4.0, parts=[part])), 3.3)


def test_convention_04_order_grad_nests_with_the_first_part_nearest():
    add = Hook(grad=lambda inner, w, t: inner(w) + 1)
    double = Other(grad=lambda inner, w, t: 2 * inner(w))
    # g = 2: (2 + 1) · 2 = 6, or 2 · 2 + 1 = 5
    assert close(final(train([[2.0]], w=4.0, parts=[add, double])), 3.4)
    add, double = Other(grad=add.grad), Hook(grad=double.grad)
    assert close(final(train([[2.0]], w=4.0, parts=[double, add])), 3.5)


def test_convention_04_order_a_gradient_may_be_taken_elsewhere():
    # at w + 1 = 5 with target 2 the gradient is 3
    ahead = Hook(grad=lambda inner, w, t: inner(w + 1))
    assert close(final(train([[2.0]], w=4.0, parts=[ahead])), 3.7)


def test_convention_04_order_loss_and_move_and_step_fold_from_left_to_right():
    def run_with(name, fold):
        pair = [Hook(**{name: fold[0]}), Other(**{name: fold[1]})]
        return final(train([[2.0]], w=4.0, parts=pair))

    # move: (2 + 1) · 2 = 6 and 2 · 2 + 1 = 5
    one, two = (lambda s, w, t: s + 1), (lambda s, w, t: 2 * s)
    assert close(run_with("move", (one, two)), 3.4)
    assert close(run_with("move", (two, one)), 3.5)
    # step: D = 0.2; (0.2 + 1) · 2 = 2.4 and 2 · 0.2 + 1 = 1.4
    one, two = (lambda d, r: d + 1), (lambda d, r: 2 * d)
    assert close(run_with("step", (one, two)), 1.6)
    assert close(run_with("step", (two, one)), 2.6)
    # end: the same, uploaded
    one, two = (lambda d, t: d + 1), (lambda d, t: 2 * d)
    assert close(run_with("end", (one, two)), 1.6)
    # loss: (v² + v) and (v² with v replaced by v + v): gradients (2v + 1) g = 10 and 4 · 2v g = 64
    one, two = (lambda v, b, t: v * v), (lambda v, b, t: v + v)
    # v = ½·2² = 2, g = 2: d(2v²) = 4v g = 16 and d((2v)²) = 8v g = 32
    assert close(run_with("loss", (one, two)), 4 - 1.6)
    assert close(run_with("loss", (two, one)), 4 - 3.2)


# --- 5 local momentum ---------------------------------------------------------------------------


def test_convention_05_momentum_buffer_is_fresh_each_round():
    # H=1: the buffer never acts, so momentum 0.9 equals none over five rounds: 0.9^5
    for momentum in (0.0, 0.9):
        result = train([[0.0]], w=1.0, rounds=5, momentum=momentum)
        assert close(final(result), 0.9**5)
    # H=2 in one round: v = 1, w = 0.9; v = 0.9 + 0.9 = 1.8, w = 0.72
    assert close(final(train([[0.0]], w=1.0, steps=2, momentum=0.9)), 0.72)


def test_convention_05_first_buffer_is_the_raw_gradient_even_if_dampened():
    # v = 1, w = 0.9; v = 0.5 · 1 + 0.25 · 0.9 = 0.725, w = 0.8275
    result = train([[0.0]], w=1.0, steps=2, momentum=0.5, dampening=0.75)
    assert close(final(result), 0.8275)


def test_convention_05_nesterov_looks_ahead():
    # step g + μ v: 1 + 0.5 = 1.5, w = 0.85; v = 0.5 + 0.85 = 1.35, step 0.85 + 0.675, w = 0.6975
    result = train([[0.0]], w=1.0, steps=2, momentum=0.5, nesterov=True)
    assert close(final(result), 0.6975)


# --- 6 learning-rate decay ----------------------------------------------------------------------


def test_convention_06_decay_is_per_round_never_per_step():
    # three steps at ½, then three at ¼: (1/2)³ (3/4)³
    result = train([[0.0]], w=1.0, steps=3, rounds=2, lr=0.5, lr_decay=0.5)
    assert close(final(result), 0.5**3 * 0.75**3)


# --- 7 clipping ---------------------------------------------------------------------------------


def test_convention_07_clip_is_on_the_norm_of_the_whole_gradient():
    # one sample x = (3, 4) with target −1 at w = 0: gradient (3, 4), norm 5, clipped to 1
    x = np.array([[3.0, 4.0]])
    data = Dataset("two", x, np.array([-1.0]), x, np.array([-1.0]), 0)
    model = nn.Linear(2, 1, bias=False)
    nn.init.zeros_(model.weight)
    rules = {"clients": 1, "rounds": 1, "batch": None, "lr": 1.0, "precision": "float64"}
    share = {"data": data, "model": model, "partition": blocks([1])}
    machine = Machine(device="cpu", workers=1)
    clipped = run(RunSpec(clip=1.0, **rules), machine=machine, **share).weights
    torch.testing.assert_close(clipped, -torch.tensor([0.6, 0.8]).double(), rtol=1e-6, atol=0)
    for clip in (None, 6.0):  # off by default, and without effect on a shorter gradient
        whole = run(RunSpec(clip=clip, **rules), machine=machine, **share).weights
        assert close(whole, -3.0, -4.0)


# --- 8 teachers ---------------------------------------------------------------------------------


class Modal(nn.Module):
    """z = w x, ten times larger while training."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0]))

    def forward(self, x):
        return x * self.w * (10 if self.training else 1)


def test_convention_08_teachers_are_in_eval_mode_without_gradient():
    seen = []

    def pull(value, b, t):
        teacher = b.ref[0]
        seen.append((teacher.requires_grad, tuple(b.logits.shape)))
        return value + (teacher * b.w).mean()  # a gradient through the teacher would add w

    data = line([0.0])
    spec = RunSpec(clients=1, rounds=1, batch=None, lr=0.01, precision="float64")
    machine = Machine(device="cpu", workers=1)
    result = run(
        spec,
        machine=machine,
        data=data,
        model=Modal(),
        partition=blocks([1]),
        parts=(Hook(loss=pull),),
    )
    # student z = 10: gradient 10 · 10 = 100; teacher z = 1 is a constant: + 1 → 1 − 0.01 · 101
    assert close(result.weights, 1 - 1.01)
    assert seen == [(False, (1, 1))]
    assert close(result.history["loss"], 0.5 * 0.01**2)  # scored in eval mode


@dataclass(frozen=True)
class TwoTeachers(Part):
    """Asks for models that live no longer than the question."""

    seen: list = field(default_factory=list)

    def loss(self, value, b, t):
        for factor in (1.0, 2.0, 3.0, 4.0):
            self.seen.append(float(b.of(t.model._replace(w=factor * t.w))[0]))
        return value


def test_convention_08_teachers_outputs_are_never_taken_for_each_other():
    part = TwoTeachers()
    train([[0.0]], w=1.0, parts=[part])
    assert part.seen == [1.0, 2.0, 3.0, 4.0]


def test_convention_08_teachers_with_the_same_weights_may_differ_in_their_statistics(cpu):
    seen = []

    def ask(value, b, t):
        moved = {name: buffer + 1 for name, buffer in t.buffers.items()}
        seen.extend(b.of(model)[0].flatten().tolist() for model in (t.model, Model(t.w, moved)))
        return value

    # mean 0 and variance 1, or mean 1 and variance 2: x = 2 and 0 become 2, 0 or ±1/√2
    x = np.array([[0.0], [2.0]])
    data = Dataset("bn", x, np.zeros(2), x, np.zeros(2), 0)
    model = nn.Sequential(nn.BatchNorm1d(1, affine=False, eps=1e-15), weight(1.0))
    spec = RunSpec(clients=1, rounds=1, batch=None, precision="float64")
    share = {"data": data, "model": model, "partition": blocks([2])}
    run(spec, machine=cpu, parts=(Hook(loss=ask),), **share)
    assert close(sorted(seen[0]), 0, 2)
    assert close(sorted(seen[1]), -(0.5**0.5), 0.5**0.5)


# --- 9 batch-norm buffers -----------------------------------------------------------------------


def normed():
    """A batch norm without parameters, then one weight."""
    return nn.Sequential(nn.BatchNorm1d(1, affine=False), nn.Linear(1, 1, bias=False))


def statistics(weights, sizes=(2, 4), **settings):
    # client 0: x = 0, 2 (mean 1, variance 2); client 1: 4, 4, 8, 8 (mean 6, variance 16/3)
    x = np.array([[0.0], [2.0], [4.0], [4.0], [8.0], [8.0]])[: sum(sizes)]
    data = Dataset("bn", x, np.zeros(len(x)), x, np.zeros(len(x)), 0)
    spec = RunSpec(
        clients=2,
        rounds=1,
        lr=0.1,
        precision="float64",
        weights=weights,
        **{"batch": None} | settings,
    )
    machine = Machine(device="cpu", workers=1)
    return run(spec, machine=machine, data=data, model=normed(), partition=blocks(sizes))


def test_convention_09_running_statistics_are_averaged_with_the_mixing_weights():
    # one step at momentum 0.1: means 0.1 and 0.6, variances 0.9 + 0.2 and 0.9 + 1.6/3
    means, variances = (0.1, 0.6), (1.1, 0.9 + 1.6 / 3)
    for weights, p in (("uniform", (1 / 2, 1 / 2)), ("samples", (1 / 3, 2 / 3))):
        found = statistics(weights).buffers
        assert close(found["0.running_mean"], p[0] * means[0] + p[1] * means[1])
        assert close(found["0.running_var"], p[0] * variances[0] + p[1] * variances[1])


def test_convention_09_counters_take_the_maximum():
    # batch 2: client 0 makes one step, client 1 two
    found = statistics("uniform", batch=2).buffers
    assert int(found["0.num_batches_tracked"]) == 2


def test_convention_09_buffers_are_in_no_vector_but_are_sent():
    result = statistics("uniform")
    assert result.record["parameters"] == len(result.weights) == 1
    # per client one weight, one mean, one variance; the counter is not a float
    assert list(result.history["floats_up"]) == [2 * 3]
    assert list(result.history["floats_down"]) == [2 * 3]


def test_convention_09_a_second_gradient_does_not_move_the_statistics(cpu):
    # the norm sees w x: mean 1 at w = 1, but 2 where the second gradient is taken
    x = np.array([[0.0], [2.0]])
    data = Dataset("bn", x, np.zeros(2), x, np.zeros(2), 0)
    model = nn.Sequential(weight(1.0), nn.BatchNorm1d(1, affine=False, dtype=torch.float64))
    twice = Hook(grad=lambda inner, w, t: (inner(w) + inner(w + 1)) / 2)
    spec = RunSpec(clients=1, rounds=1, batch=None, precision="float64")
    found = run(
        spec, machine=cpu, data=data, model=model, partition=blocks([2]), parts=(twice,)
    ).buffers
    assert close(found["1.running_mean"], 0.1)
    assert int(found["1.num_batches_tracked"]) == 1


def test_convention_09_the_training_loss_is_the_first_evaluations():
    twice = Hook(grad=lambda inner, w, t: (inner(w) + inner(w + 1)) / 2)
    result = train([[0.0]], w=1.0, parts=[twice])
    assert close(result.history["train_loss"], 0.5)  # ½ · 1², not ½ · 2²
    assert close(final(result), 1 - 0.1 * 1.5)


# --- 10 short last batch ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "batch", "steps"),
    [
        ((3, 4), 2, [1.0, 2.0]),  # 2 + 1: batch norm cannot use the single sample
        ((5, 6), 3, [2.0, 2.0]),  # 3 + 2 is kept
        ((3, 4), 1, [3.0, 4.0]),  # batches of one are what was asked for
        ((1, 4), 2, [1.0, 2.0]),  # all that a client has is never dropped
    ],
)
def test_convention_10_short_last_batch(cpu, sizes, batch, steps):
    seen = []

    class Flat(nn.Module):  # three numbers a channel, so that one sample has a variance
        def __init__(self):
            super().__init__()
            self.norm, self.w = nn.BatchNorm1d(1), nn.Linear(3, 1)

        def forward(self, x):
            return self.w(self.norm(x.unsqueeze(1)).squeeze(1))

    x = np.arange(3.0 * sum(sizes)).reshape(-1, 3)
    data = Dataset("bn", x, np.zeros(len(x)), x, np.zeros(len(x)), 0)
    part = Hook(step=lambda d, r: seen.append(r.steps.tolist()) or d)
    spec = RunSpec(clients=2, rounds=1, batch=batch, lr=1e-3)
    run(spec, machine=cpu, data=data, model=Flat(), partition=blocks(sizes), parts=(part,))
    assert seen == [steps]


def test_convention_10_short_last_batch_is_kept_without_batch_norm():
    seen = []
    part = Hook(step=lambda d, r: seen.append(r.steps.tolist()) or d)
    train([[0.0] * 3, [0.0] * 4], parts=[part], batch=2)
    assert seen == [[2.0, 2.0]]


# --- 11 sampling --------------------------------------------------------------------------------


def test_convention_11_cohort_size_is_rounded_and_at_least_one():
    from fedbench.sampling.sampler import cohort_size

    sizes = {(10, 0.1): 1, (10, 0.01): 1, (10, 0.26): 3, (30, 0.1): 3, (7, 1.0): 7}
    assert {key: cohort_size(*key) for key in sizes} == sizes


# --- 12 determinism -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Noisy(Part):
    """Draws random numbers and asks a teacher, to no effect."""

    drawn: list = field(default_factory=list)

    def draw(self, rng, t):
        return {"noise": torch.randn(3, generator=rng, dtype=torch.float64)}

    def loss(self, value, b, t):
        return value + 0 * b.ref[0].sum()

    def end(self, delta, t):
        t.upload["noise"] = t.drawn["noise"]
        return delta

    def step(self, d, r):
        self.drawn.extend(up["noise"].tolist() for up in r.uploads)
        return d


def test_convention_12_determinism_a_parts_draws_move_nothing_else():
    clients, rules = [[1.0, 2.0, 3.0], [0.0, 5.0], [7.0]], {"batch": 2, "rounds": 3}
    part = Noisy()
    with_draws = train(clients, parts=[part], **rules)
    assert torch.equal(with_draws.weights, train(clients, **rules).weights)
    assert len({tuple(d) for d in part.drawn}) == 9  # other numbers for each round and client
    again = Noisy()
    train(clients, parts=[again], **rules)
    assert again.drawn == part.drawn


@dataclass(frozen=True)
class Noisier(Noisy):
    """The same under another name."""


def test_convention_12_determinism_each_part_draws_its_own_numbers():
    one, two = Noisy(), Noisier()
    train([[1.0], [2.0]], parts=[one, two])
    alone = Noisier()
    train([[1.0], [2.0]], parts=[alone])
    assert two.drawn == alone.drawn  # whoever stands beside it
    assert not set(map(tuple, one.drawn)) & set(map(tuple, two.drawn))


def test_convention_12_determinism_teachers_do_not_move_the_students_dropout(cpu):
    model = nn.Sequential(nn.Linear(1, 6), nn.Dropout(0.5), nn.Linear(6, 1))
    spec = RunSpec(clients=2, rounds=2, batch=1, precision="float64")
    share = {"machine": cpu, "data": line([1.0, 2.0, 3.0]), "partition": blocks([2, 1])}
    plain = run(spec, model=model, **share).weights
    assert torch.equal(run(spec, model=model, parts=(Noisy(),), **share).weights, plain)


def test_convention_12_determinism_initial_model_depends_on_the_seed_alone(cpu):
    specs = [RunSpec(rounds=1, lr=1e-30, clients=2, parts=p) for p in ((), ("fedprox",), ("mfl",))]
    first, *others = [run(spec, machine=cpu).weights for spec in specs]
    assert all(torch.equal(first, other) for other in others)
    moved = run(specs[0].changed(seed=1), machine=cpu).weights
    assert not torch.equal(first, moved)
    kept = run(specs[0].changed(data_seed=1), machine=cpu).weights
    assert torch.equal(first, kept)


# --- 13 bit-exactness ---------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [(), (FedProx(0.0),), (MFL(0.0),), (Hook(),)])
def test_convention_13_the_plain_mean_has_its_own_bits(parts):
    # three clients, p = 1/3: ⅓ y_0 + ⅓ y_1 + ⅓ y_2, added in this order, and nothing else
    clients, third = [[0.1], [0.7], [0.35]], 1 / 3
    x = 0.3
    result = train(clients, w=x, parts=parts, rounds=4, lr=0.125)
    for _ in range(4):
        a, b, c = (x - 0.125 * (x - targets[0]) for targets in clients)
        x = third * a + third * b + third * c
    assert final(result) == x


# --- 14 precision -------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_convention_14_precision_is_kept_everywhere(precision):
    dtype = getattr(torch, precision)
    seen = []

    def note(*tensors):
        seen.extend(t.dtype for t in tensors)
        return tensors[0]

    part = Hook(
        step=lambda d, r: note(d, r.w, r.p, r.counts, r.steps, r.raw),
        grad=lambda inner, w, t: note(inner(w), w, t.w, t.n, t.labels),
        move=lambda step, w, t: note(step, w),
        end=lambda delta, t: note(delta),
        loss=lambda value, b, t: note(value, b.x, b.logits),
    )
    result = train(
        [[1.0, 2.0], [3.0]],
        parts=[part],
        batch=1,
        momentum=0.9,
        clip=1.0,
        precision=precision,
    )
    assert set(seen) == {dtype}
    assert result.weights.dtype == dtype
    assert math.isfinite(final(result))
