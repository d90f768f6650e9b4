"""A hook that returns another shape than it was given is told; it would change every weight."""

import re

import pytest
import torch

from fedbench import Part
from tests.methods.one_weight import train


class Begins(Part):
    """Starts from a single number."""

    def begin(self, w, t):
        return w.sum()


class Shows(Part):
    """The probabilities of the first sample alone."""

    def logits(self, z, b, t):
        return z[:1].softmax(1)


class Loses(Part):
    """A loss of each sample in place of their mean."""

    def loss(self, value, b, t):
        return value + b.logits.square()


class Grades(Part):
    """The gradient's length in place of the gradient."""

    def grad(self, inner, w, t):
        return inner(w).norm()


class Decays(Part):
    """One more weight than there is."""

    def decay(self, g, w, t):
        return torch.cat([g, g])


class Moves(Part):
    """Forgets to return the step."""

    def move(self, step, w, t):
        return None


class Ends(Part):
    """The update's length in place of the update."""

    def end(self, delta, t):
        return delta.norm()


class Receives(Part):
    """The same at the server."""

    def receive(self, delta, r):
        return delta.norm()


class Weighs(Part):
    """The sum of the weights in place of the weights."""

    def weigh(self, p, r):
        return p.sum()


class Steps(Part):
    """A number in place of a tensor."""

    def step(self, d, r):
        return float(d.norm())


class Scores(Part):
    """Half the model, in another precision."""

    def evaluate(self, w, r):
        return {"half": w.float() / 2}


class Forgets(Part):
    """A term that was computed on numbers, so that nothing would be learned from the labels."""

    def loss(self, value, b, t):
        return torch.tensor(value.item())


class Detaches(Part):
    """Logits from which no gradient flows back."""

    def logits(self, z, b, t):
        return z.detach()


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (Begins(), "Begins.begin returned shape (); it must return a tensor of shape (1,)"),
        (Shows(), "Shows.logits returned shape (1, 1); it must return a tensor of shape (2, 1)"),
        (Loses(), "Loses.loss returned shape (2, 1); it must return a tensor of shape ()"),
        (Forgets(), "Forgets.loss returned a tensor without a gradient"),
        (Detaches(), "Detaches.logits returned a tensor without a gradient"),
        (Grades(), "Grades.grad returned shape ()"),
        (Decays(), "Decays.decay returned shape (2,)"),
        (Moves(), "Moves.move returned NoneType"),
        (Ends(), "Ends.end returned shape ()"),
        (Receives(), "Receives.receive returned shape ()"),
        (Weighs(), "Weighs.weigh returned shape ()"),
        (Steps(), "Steps.step returned float"),
        (Scores(), "Scores.evaluate returned torch.float32"),
    ],
)
def test_a_hook_of_another_shape_is_told(refuses, part, words):
    with refuses(re.escape(words)):
        train([[1.0, 3.0], [2.0, 4.0]], parts=[part])


class Halves(Part):
    """Weights that sum to a half, as of a division by the wrong total."""

    def weigh(self, p, r):
        return p / 2


def test_mixing_weights_that_do_not_sum_to_one_are_told(refuses):
    with refuses("weigh gave weights of the sum 0.5; it must be 1"):
        train([[1.0, 3.0], [2.0, 4.0]], parts=[Halves()])


class Keeps(Part):
    """Counts rounds at the server in a number of Python's."""

    def server(self, w, fed):
        return {"rounds": 0.5}

    def step(self, d, r):
        return d


class Sends(Keeps):
    """Uploads a number of Python's."""

    def server(self, w, fed):
        return {}

    def end(self, delta, t):
        t.upload["length"] = 0.5
        return delta


class Remembers(Sends):
    """Stores a number of Python's at the client."""

    def end(self, delta, t):
        t.state["length"] = 0.5
        return delta


@pytest.mark.parametrize(
    ("part", "name"), [(Keeps(), "rounds"), (Sends(), "length"), (Remembers(), "length")]
)
def test_a_state_without_a_tensor_is_told_in_the_first_round(refuses, part, name):
    with refuses(f"{type(part).__name__} stores or sends 0.5 as '{name}'; it must be a tensor"):
        train([[1.0], [2.0]], parts=[part])
