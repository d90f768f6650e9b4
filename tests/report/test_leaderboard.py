"""What the front page says first, and what it says of the runs behind a leaderboard."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from fedbench.paper.grid_points import Substitution, Substitutions
from fedbench.paper.printed_numbers import Place
from fedbench.paper.tables_and_figures import Table
from fedbench.report.claims.page import FILTERS
from fedbench.report.pages.tables_and_figures import (
    Leader,
    TableOnPage,
    conditions,
)
from fedbench.report.tables.cells import Run, Status, TableCell
from fedbench.report.tables.layout import Group, Row, TableLayout
from fedbench.report.template_words import FILTERS as WORDS
from fedbench.report.template_words import say
from fedbench.spec import RunSpec
from tests.report.answers_case import STUDY, written
from tests.report.test_pages import text

# Three seeds; A is 10 points ahead with each, B by −1, 0 and 1
TWO = {
    split: {"FedAvg": [50.0, 51.0, 52.0], "A": [60.0, 61.0, 62.0], "B": [49.0, 51.0, 53.0]}
    for split in ("δ = 0.5", "δ = 0.1")
}


def shown(
    parts: dict[str, dict[str, list[float]]],
    metric: str = "accuracy",
    substituted: Substitutions = (),
) -> TableOnPage:
    """A leaderboard with a group of rows per part: values by method, one per seed."""
    table = Table(title="T", grid="g", metrics=(metric,), rows=("split", "method"), columns=())
    groups = []
    for part, methods in parts.items():
        rows = []
        for method, values in methods.items():
            runs = tuple(
                Run(f"{part}{method}{n}", n, Status.FINISHED, x) for n, x in enumerate(values)
            )
            place = Place("t", "MNIST", part, method, metric)
            cell = TableCell(place, {}, False, None, runs, substituted)
            rows.append(Row(((method, 1),), {(metric,): cell}, False))
        groups.append(Group(part, tuple(rows), substituted))
    layout = SimpleNamespace(groups=tuple(groups), heads=("Method",), blocks=())
    return TableOnPage("t", table, cast(TableLayout, layout), "", ())


def leader(name: str, mean: float, methods: int) -> Leader:
    """The first of a table in one part, in which FedAvg is not behind."""
    return Leader("", name, mean, None, 0, methods)


def test_a_leaderboard_says_who_leads_and_how_many_significantly() -> None:
    found = shown(TWO)
    first = Leader("δ = 0.5", "A", 61.0, 51.0, rank=2, methods=3)
    assert [*found.leaders] == [first, first._replace(part="δ = 0.1")]
    assert (found.compared, found.ahead) == (3, ("A", 10.0, 1))
    said = say("tables.board", found)
    facts = ("A leads with 61.00 %", "51.00 % (2nd of 3)", "10.0 points", "1 is significantly")
    assert [fact for fact in facts if fact not in said] == []


def test_where_less_is_better_the_lowest_leads() -> None:
    found = shown({"": TWO["δ = 0.5"]}, metric="loss")
    assert [*found.leaders] == [leader("FedAvg", 51.0, 3)]
    assert found.ahead[2] is None  # three seeds of one setting test nothing


def test_of_stand_ins_and_without_fedavg_no_lead_is_said_to_be_significant() -> None:
    stand_ins = shown(TWO, substituted=(Substitution("dataset", "digits", "mnist"),))
    assert (next(stand_ins.leaders).name, stand_ins.ahead) == ("A", None)
    assert "significant" not in say("tables.board", stand_ins)
    others = shown({"": {"A": [2.0, 3.0], "B": [1.0, 2.0]}})
    assert ([*others.leaders], others.ahead) == ([leader("A", 2.5, 2)], None)
    assert shown({"": {"A": [2.0]}}).compared == 1


def test_the_claims_are_counted_by_verdict(tmp_path: Path) -> None:
    folder = written(tmp_path)  # of 3 claims 2 hold and 1 fails
    seen = text(folder / "index.html")
    words = "Claims: 3 claims of 1 paper (toy): 2 are supported, 1 is not supported."
    assert words in seen
    assert seen.index("Claims:") < seen.index("Scale: full")
    assert say("tables.claims", [], FILTERS) == ""


def test_claims_of_a_study_are_no_papers(tmp_path: Path) -> None:
    index = written(tmp_path, paper=STUDY) / "index.html"
    assert "Claims: " not in text(index)
    assert "Our own questions" in text(index)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (1, "1st"),
        (2, "2nd"),
        (3, "3rd"),
        (11, "11th"),
        (30, "30th"),
        (112, "112th"),
        (121, "121st"),
    ],
)
def test_places_in_words(number: int, words: str) -> None:
    assert WORDS["ordinal"](number) == words


def test_conditions_are_what_all_runs_share() -> None:
    run = RunSpec(clients=100, participation=0.1, rounds=150, batch=50)
    other = run.model_copy(update={"seed": 1, "batch": 10})
    shared = conditions([run, other])
    assert shared == {
        **{"dataset": "Digits", "model": "MLP", "clients": 100, "rounds": 150, "seeds": 2},
        "cohort": {"size": 10, "about": False},
        "local": {"unit": "epoch", "number": 1, "most": False},
    }  # but not the batches
    searched = run.changed(epochs=1, tune={"grid": {"epochs": [1, 5], "batch": [10, 50]}})
    assert {*conditions([searched, searched])}.isdisjoint({"local", "batch"})
    assert conditions([]) == {}
    facts = ("Digits", "MLP", "100 clients", "10 of them", "1 local epoch", "150 rounds", "2 seeds")
    assert [fact for fact in facts if fact not in say("tables.conditions", shared)] == []
    fewer = run.changed(clients=50, participation=0.2)
    assert "10 clients per round" in say("tables.conditions", conditions([run, fewer]))


def test_a_study_says_once_what_its_runs_have_in_common(tmp_path: Path) -> None:
    seen = text(written(tmp_path, paper=STUDY) / "toy.html")
    assert seen.count("All runs alike: network MLP, 10 clients, 10 of them per round") == 1
    assert seen.count("The runs are like those above. α: how alike the clients' data are") == 1
    assert "no verdict" not in seen
    assert "All runs alike" not in text(written(tmp_path / "paper") / "toy.html")


def test_words_of_a_leaderboard_are_explained_where_they_stand() -> None:
    item = shown({"δ = 0.5, α = 1": TWO["δ = 0.5"]}, metric="client_worst")
    assert say("tables.meaning", item.table.metrics).startswith("At a client")
    assert item.skews == ["δ", "α"]
    plain = shown({"": TWO["δ = 0.5"]})
    assert (say("tables.meaning", plain.table.metrics), plain.skews) == ("", [])
