"""How runs differ from the paper's, said once for many."""

import pytest

from fedbench.paper.grid_points import Substitution, Substitutions, merged
from fedbench.report.template_words import say

MODEL, ROUNDS = Substitution("model", "x", "y"), Substitution("rounds", "6", "500")
RATE, DOUBLED = Substitution("lr", "0.3", "0.1"), Substitution("lr", "0.6", "0.2")
BATCH = Substitution("batch", "8", "50")
A, B = (MODEL, ROUNDS, RATE), (MODEL, ROUNDS, DOUBLED, BATCH)


def test_changes_of_a_setting_stand_together() -> None:
    assert merged([A, (), B, A]) == (MODEL, ROUNDS, RATE, DOUBLED, BATCH)
    assert merged([(BATCH, RATE), (ROUNDS, DOUBLED)]) == (BATCH, RATE, DOUBLED, ROUNDS)
    assert merged([(), ()]) == ()


@pytest.mark.parametrize(
    ("found", "facts"),
    [
        ((ROUNDS,), ["rounds", "6", "500"]),
        (merged([(RATE,), (DOUBLED,)]), ["lr", "0.3", "0.1", "0.6", "0.2"]),
        # two numbers that are alike belong to settings of their own
        ((Substitution("rounds", "5", "9"), Substitution("epochs", "5", "8")), ["9", "epochs"]),
        ((Substitution("lr", "0.3", tried=4),), ["0.3", "4"]),
        ((Substitution("mu", tried=4),), ["mu", "search"]),
    ],
)
def test_every_value_is_said(found: Substitutions, facts: list[str]) -> None:
    said = say("scale.substitutions", found)
    assert [fact for fact in facts if fact not in said] == []
