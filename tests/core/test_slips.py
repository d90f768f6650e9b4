"""A part that names a method or a decision that does not exist is refused before training."""

from typing import ClassVar

import pytest

from fedbench import FedbenchError, Part
from fedbench.base import registry
from fedbench.core.part import DECISIONS, SERVER_OPTIMISER
from fedbench.core.part_conflicts import refuse_conflicts

METHODS = {name: entry.load() for name, entry in registry.entries("method").items()}


class Misspelt(Part):
    excludes: ClassVar[dict[str, str]] = {"fedadcc": "it is the same"}


class Late(Part):
    follows: ClassVar[dict[str, str]] = {"fedexpp": "it compares lengths"}


class Early(Part):
    precedes: ClassVar[dict[str, str]] = {"slowmoo": "it remembers the step"}


class Colour(Part):
    decides: ClassVar[tuple[str, ...]] = ("how long the global stepp is",)


class Stray(Part):
    def stepp(self, d, r):
        return d


class Untyped(Part):
    eta = 0.5


class Helper(Part):
    def step(self, d, r):
        return self.shorter(d)

    def shorter(self, d):
        return d

    @staticmethod
    def _sendd():
        return None


class Short(Part):
    def grad(self, w, t):
        return w


class Keyed(Part):
    def step(self, d, r, *, eta):
        return d


class Renamed(Part):
    def grad(self, gradient, weights, turn, scale=1.0):
        return gradient(weights)

    def step(self, *args):
        return args[0]

    @staticmethod
    def weigh(p, r):
        return p


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (Short(), r"test_slips\.py: Short\.grad must take \(inner, w, t\), not \(w, t\)"),
        (Keyed(), r"test_slips\.py: Keyed\.step must take \(d, r\), not \(d, r, \*, eta\)"),
    ],
)
def test_a_hook_with_other_arguments_is_refused(refuses, part, sentence):
    with refuses(sentence):
        refuse_conflicts([part])


def test_arguments_of_a_hook_may_have_other_names_and_defaults():
    refuse_conflicts([Renamed()])


def test_a_part_may_have_methods_of_its_own():
    refuse_conflicts([Helper()])


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (
            Stray(),
            "'stray' has no hook 'stepp'; did you mean 'step'? Name a method of its own '_st",
        ),
        (Untyped(), "'eta = 0.5' has no type, so it is no parameter; write 'eta: float = 0.5'"),
        (Misspelt(), "'misspelt'.excludes: no method 'fedadcc'; did you mean 'fedadc'?"),
        (Late(), "'late'.follows: no method 'fedexpp'; did you mean 'fedexp'?"),
        (Early(), "'early'.precedes: no method 'slowmoo'; did you mean 'slowmo'?"),
        (
            Colour(),
            "'colour'.decides: no decision 'how long the global stepp is'; did you mean "
            "'how long the global step is'?",
        ),
    ],
)
def test_a_slip_is_refused_with_the_nearest_name(part, sentence):
    with pytest.raises(FedbenchError) as caught:
        refuse_conflicts([part])
    assert sentence in str(caught.value)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_names_methods_and_decisions_that_exist(name):
    cls = METHODS[name]
    assert {*cls.excludes, *cls.follows, *cls.precedes} <= METHODS.keys() - {name}
    assert {*cls.decides} <= {*DECISIONS}


@pytest.mark.parametrize("what", DECISIONS)
def test_every_decision_is_one_that_two_methods_make(what):
    assert sum(what in cls.decides for cls in METHODS.values()) >= 2


def test_only_one_part_is_the_servers_optimiser():
    with pytest.raises(
        FedbenchError, match=f"'fedyogi' .* 'fedadam': both decide {SERVER_OPTIMISER}"
    ):
        refuse_conflicts([METHODS["fedadam"](), METHODS["fedyogi"]()])
