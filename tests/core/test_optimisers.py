"""Adam's steps and ‖a‖₁ by hand; engine/test_training compares whole rounds with PyTorch's."""

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fedbench import FedbenchError
from fedbench.core.local_optimisers import SGD, Adam
from tests.methods.one_weight import DAMPENED, MOMENTUM, NESTEROV, close

HALF = Adam(beta1=0.5, beta2=0.75, eps=1e-12)


def test_two_steps_of_adam():
    w = torch.zeros(2, dtype=torch.float64)
    first, memory = HALF.step(w.new_tensor([4.0, -2.0]), w, HALF.start(w), 0)
    assert close(first, 1, -1)  # m̂ = g and v̂ = g²
    assert close(memory["m"], 2, -1)
    assert close(memory["v"], 4, 1)
    # m = 2/2 + g/2 and v = 3/4 · 4 + g²/4; m̂ = m/0.75 and v̂ = v/0.4375
    second, memory = HALF.step(w.new_tensor([4.0, 2.0]), w, memory, 1)
    assert close(memory["m"], 3, 0.5)
    assert close(memory["v"], 7, 1.75)
    assert close(second, 4 / 16**0.5, (2 / 3) / 4**0.5)


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_a_step_of_adam_changes_nothing_that_it_is_given(decay):
    adam = Adam(weight_decay=decay)
    g, w = torch.tensor([1.0, -2.0]), torch.tensor([3.0, 5.0])
    memory = {"m": torch.tensor([0.5, 0.25]), "v": torch.tensor([1.0, 2.0])}
    given = [x.clone() for x in (g, w, memory["m"], memory["v"])]
    adam.step(g, w, memory, 3)
    assert all(map(torch.equal, (g, w, memory["m"], memory["v"]), given))


def test_clients_side_by_side_take_the_steps_that_each_takes_alone():
    adam, gs = Adam(), torch.tensor([[1.0, -2.0], [0.5, 4.0]])
    w = torch.tensor([3.0, 5.0])

    def two_steps(g):
        _, memory = adam.step(g, w, adam.start(w), 0)
        return adam.step(g * g, w, memory, 1)[0]

    together = torch.func.vmap(two_steps)(gs)
    assert torch.equal(together, torch.stack([two_steps(g) for g in gs]))


@pytest.mark.parametrize(
    ("sgd", "expected"),
    [({}, 3), (MOMENTUM, 1 + 1.5 + 1.75), (DAMPENED, 1 + 1.25 + 1.375), (NESTEROV, 3 + 4.25 / 2)],
    ids=str,
)
def test_effective_steps_by_hand(sgd, expected):
    assert SGD(**sgd).effective_steps(3) == expected
    # weight decay is part of the gradients
    assert SGD(**sgd, weight_decay=0.1).effective_steps(3) == expected


def pytorchs_way(steps, momentum, dampening, nesterov, gradients):
    """How far torch.optim.SGD moves a weight, with rate 1, along these gradients."""
    w = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    rules = {"momentum": momentum, "dampening": dampening, "nesterov": nesterov}
    optimiser = torch.optim.SGD([w], lr=1.0, **rules)
    for k in range(steps):
        w.grad = torch.tensor([gradients[k]], dtype=torch.float64)
        optimiser.step()
    return -float(w.detach())


some_sgd = st.tuples(
    st.one_of(st.just(0.0), st.floats(0.001, 0.999)), st.floats(0, 1), st.booleans()
).map(lambda x: (x[0], 0.0, True) if x[2] and x[0] else (x[0], x[1] if x[0] else 0.0, False))


@settings(deadline=None)
@given(st.integers(1, 100), some_sgd)
@example(7, (0.9, 1.0, False))
def test_effective_steps_are_how_far_pytorch_goes_along_a_constant_gradient(H, rules):
    got = SGD(*rules).effective_steps(H)
    assert got == pytest.approx(pytorchs_way(H, *rules, [1.0] * H), rel=1e-9)
    if not rules[0]:
        assert got == H  # bit for bit


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-9, 9), min_size=1, max_size=12), some_sgd)
def test_effective_steps_are_the_sum_of_what_the_gradients_weigh(gradients, rules):
    # pytorch moves by Σ a_j g_j: each a_j is its way along the j-th unit vector
    H = len(gradients)
    a = [pytorchs_way(H, *rules, [float(j == k) for k in range(H)]) for j in range(H)]
    assert min(a) >= 0
    assert SGD(*rules).effective_steps(H) == pytest.approx(sum(a), rel=1e-9)
    moved = sum(weight * g for weight, g in zip(a, gradients, strict=True))
    assert pytorchs_way(H, *rules, gradients) == pytest.approx(moved, rel=1e-9, abs=1e-9)


def test_adam_has_no_such_number():
    with pytest.raises(FedbenchError, match="Adam's steps are no weighted sum of gradients"):
        Adam().effective_steps(3)
