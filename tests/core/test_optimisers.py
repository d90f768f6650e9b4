"""Adam's steps by hand; engine/test_training compares whole rounds with PyTorch's optimisers."""

import pytest
import torch

from fedbench.core.optimisers import Adam
from tests.methods.one_weight import close

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
