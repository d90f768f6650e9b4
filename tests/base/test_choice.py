"""The ways in which files spell a name with parameters, and types in words."""

import pytest

from fedbench.base.checks import allowed
from fedbench.spec.choice import Choice


@pytest.mark.parametrize(
    "spelled", ["mfl", {"mfl": {}}, {"mfl": None}, {"name": "mfl"}, {"name": "mfl", "params": None}]
)
def test_no_parameters_are_spelled_in_five_ways(spelled):
    assert Choice.model_validate(spelled) == Choice(name="mfl")


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (list, "a list"),
        (list[float], "a list"),
        (dict, "a mapping"),
        (dict | None, "a mapping or null"),
    ],
)
def test_types_of_python_are_told_in_words(hint, words):
    assert allowed(hint) == words
