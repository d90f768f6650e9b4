"""What guessing gives on a test set, and what is near it, by hand."""

import json
from math import sqrt
from pathlib import Path

import pandas as pd
import pytest

from fedbench.base.files import write_text
from fedbench.plan.data_checks import data_key
from fedbench.report.values.collected_frames import Collected, Guess, declared
from fedbench.spec import Choice
from fedbench.store import Results


@pytest.mark.parametrize(
    ("hits", "samples", "limit"),
    [
        (1_000, 10_000, 0.15),  # ten equal classes
        (100, 10_000, 0.015),  # a hundred
        (1_900, 7_600, 0.30),  # four
        (10_000, 20_000, 0.55),  # two: 70 % is no guess, nor is 67.6; 51.4 is
        (19_000, 20_000, 0.975),  # 95 % of one class
        (50, 100, 0.5 + 2 * sqrt(0.25 / 100)),  # few samples: two standard errors are 10 points
    ],
)
def test_an_accuracy_below_the_limit_may_be_a_guess(hits, samples, limit):
    assert Guess(hits / samples, samples, 100).limit == pytest.approx(limit)


@pytest.mark.parametrize(
    ("accuracy", "wanted"),
    [(0.1, 0.3), (0.01, 0.04), (0.25, 0.45), (0.5, 0.65), (0.95, 0.975)],
)
def test_what_fedavg_should_reach_is_in_reach(accuracy, wanted):
    assert Guess(accuracy, 1_000_000, 100).learned == pytest.approx(wanted)


def test_a_trial_is_scored_on_the_held_out_share():
    assert Guess(0.5, 20_000, 1_000).held_out(0.1) == Guess(0.5, 100, 1_000)


def test_users_data_say_it_by_their_facts(tmp_path):
    own = Choice(name="file", params={"path": "my.csv"})
    assert declared(own) is None
    assert guess_of(tmp_path, own) is None
    file = Results(tmp_path).data(data_key(own))
    write_text(file, json.dumps({"train": 500, "test": 200, "largest": 190}))
    assert guess_of(tmp_path, own) == Guess(0.95, 200, 500)
    file.write_text(json.dumps({"train": 500, "test": 200}))  # labels that are no classes
    assert guess_of(tmp_path, own) is None


@pytest.mark.parametrize(("name", "share"), [("mnist", 0.1135), ("digitpairs", 0.01)])
def test_what_ships_with_fedbench_declares_it(name, share):
    assert declared(Choice(name=name)).accuracy == pytest.approx(share)
    assert guess_of(Path("nowhere"), Choice(name=name)) == declared(Choice(name=name))


def guess_of(results, dataset):
    """By the facts in a results folder."""
    return Collected(pd.DataFrame(), results / "runs").guess_of(dataset)
