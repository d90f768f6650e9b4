"""What a page says of searches: each trial's score, the choice, and how much it says."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fedbench.base.errors import FedbenchError
from fedbench.base.files import read_json, read_text, write_json, write_text
from fedbench.plan.plan import Plan, make_plan
from fedbench.plan.search import resolved, signed
from fedbench.report import build
from fedbench.report.pages.runs import searches
from fedbench.report.values.collected_frames import Collected
from fedbench.store import Results
from tests.jobs.made_runs import SEARCHING, finish, project

PAPER = """
title: Toy
authors: A. Uthor
settings: {dataset: digits, rounds: 2}
levels:
  alpha: {each: {partition: {dr: {alpha: $}}}}
  method: {A: {parts: []}}
grids:
  main:
    axes: {alpha: [1, 0.1], method: [A]}
    seeds: [0, 1]
    settings: {tune: {grid: {lr: [0.3, 0.1, 0.03]}, by: mean, "on": held-out, share: 0.1}}
tables:
  t: {title: Table 1, grid: main, rows: [alpha]}
"""


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    write_text(tmp_path / "papers/toy.yaml", PAPER)
    write_text(tmp_path / "scales/full.yaml", "about: Full.\n")
    return make_plan(tmp_path, "full")


def found(plan: Plan, results: Path, *winners: dict[str, object]) -> list[dict[str, Any]]:
    """The searches on the page, once these have been chosen, in the plan's order."""
    for search, winner in zip(plan.trials, winners, strict=False):
        write_text(Results(results).winner(search), json.dumps(winner))
    collected = Collected(pd.DataFrame(), Results(results).runs)
    return searches(plan, "toy", collected, {"lost"})


def winner(
    *scores: float,
    chosen: float,
    at_edge: tuple[str, ...] = (),
    runs: tuple[str, ...] = ("a", "b", "c"),
) -> dict[str, object]:
    tried = zip((0.3, 0.1, 0.03), scores, strict=True)
    trials = [{"lr": lr, "score": score} for lr, score in tried]
    choice = {"chosen": {"lr": chosen}, "trials": trials, "on_edge": list(at_edge)}
    return choice | {"runs": list(runs)}


def test_each_trial_its_score_and_the_choice(plan: Plan, tmp_path: Path) -> None:
    first, second = found(
        plan,
        tmp_path / "results",
        winner(0.5, 0.62, 0.4, chosen=0.1),
        winner(0.1, 0.1, 0.149, chosen=0.03, at_edge=("lr",)),
    )
    assert (first.served, first.chosen) == (("α = 1, A",), "lr=0.1")  # once, for both seeds
    assert first.tried == (("lr=0.3", "50.0"), ("lr=0.1", "62.0"), ("lr=0.03", "40.0"))
    assert first.rule == "the best of 3 by the mean accuracy on held-out training data"
    assert not first.near_chance
    assert second.near_chance  # of ten digits a guess finds a tenth; 0.149 < 1.5 times that
    assert (first.at_edge, second.at_edge) == ((), (("lr", False),))


def test_a_trial_that_diverged_is_marked(plan: Plan, tmp_path: Path) -> None:
    # two trials for each rate: those of seed 0, then those of seed 1, of which that of 0.1 is lost
    runs = ("a", "b", "c", "d", "lost", "f")
    (page,) = found(plan, tmp_path, winner(0.5, 0.62, 0.4, chosen=0.3, runs=runs))
    assert page.lost == {"lr=0.1"}


@pytest.mark.parametrize("content", [{"failed": ["a-run"]}, {"trials": []}, None])
def test_a_search_without_a_choice_is_not_shown(
    plan: Plan, tmp_path: Path, content: dict[str, object] | None
) -> None:
    winners = [] if content is None else [content]
    assert found(plan, tmp_path / "results", *winners) == []


def test_the_chosen_trial_counts_where_a_better_one_diverged(plan: Plan, tmp_path: Path) -> None:
    (search,) = found(plan, tmp_path, winner(0.9, 0.149, 0.1, chosen=0.1))
    assert search.near_chance


def test_the_page_warns_of_a_choice_near_chance(plan: Plan, tmp_path: Path) -> None:
    scores = (winner(0.5, 0.62, 0.4, chosen=0.1), winner(0.1, 0.1, 0.149, chosen=0.03))
    found(plan, tmp_path / "results", *scores)
    build(plan, tmp_path / "results", tmp_path / "reports", tmp_path / "papers")
    html = read_text(tmp_path / "reports/full/toy.html")
    assert "1 of 2 searches of settings" in html
    assert "2 searches, 1 of them near chance" in html
    assert '<span class="best">lr=0.1: 62.0</span>' in html


@pytest.mark.parametrize(
    "content",
    [
        None,  # deleted
        {"chosen": {"lr": 2}, "trials": [{"lr": 2, "score": 0.9}], "on_edge": []},
        {"chosen": {"lr": 1}, "trials": [{"lr": 1, "score": 0.9}], "on_edge": []},
        {"failed": ["a-run"]},
    ],
)
def test_a_winner_that_was_edited_or_deleted_is_chosen_anew(
    tmp_path: Path, content: dict[str, object] | None
) -> None:
    plan = project(tmp_path, SEARCHING)
    results = Results(tmp_path / "results")
    run_id, search = next(iter(plan.searches.items()))
    said = read_json(results.winner(search))
    assert said["trials"] == [{"lr": 1, "score": 0.5}, {"lr": 2, "score": 0.5}]
    results.winner(search).unlink()
    if content:
        results.winner(search).write_text(json.dumps(content))
    assert Collected(pd.DataFrame(), results.runs).winner(search, plan.runs[run_id]) == said


def test_a_winner_that_is_as_it_was_written_needs_no_trials(tmp_path: Path) -> None:
    plan = project(tmp_path, SEARCHING)
    results = Results(tmp_path / "results")
    run_id, search = next(iter(plan.searches.items()))
    written = signed(read_json(results.winner(search)), results.root)
    write_json(results.winner(search), written)
    run, trials = plan.runs[run_id], [results.run(key) for key in plan.trials[search]]
    for trial in trials:
        (trial.path / "rounds.parquet").unlink()
    assert Collected(pd.DataFrame(), results.runs).winner(search, run) == written
    assert resolved(run, results.root) == run.changed(tune=None, lr=1)
    write_json(results.winner(search), written | {"chosen": {"lr": 2}})
    with pytest.raises(FedbenchError, match=r"rounds\.parquet"):
        resolved(run, results.root)


def test_a_winner_is_chosen_anew_once_a_trial_was_trained_anew(tmp_path: Path) -> None:
    plan = project(tmp_path, SEARCHING)
    results = Results(tmp_path / "results")
    run_id, search = next(iter(plan.searches.items()))
    write_json(results.winner(search), signed(read_json(results.winner(search)), results.root))
    run, better = plan.runs[run_id], plan.trials[search][1]
    finish(results.root, plan.runs[better], accuracy=0.9)
    assert Collected(pd.DataFrame(), results.runs).winner(search, run)["chosen"] == {"lr": 2}
    with pytest.raises(FedbenchError, match="by its trials the winner is"):
        resolved(run, results.root)


def test_with_an_edited_trial_the_file_alone_says_what_was_chosen(tmp_path: Path) -> None:
    plan = project(tmp_path, SEARCHING)
    results = Results(tmp_path / "results")
    run_id, search = next(iter(plan.searches.items()))
    trial = results.run(plan.trials[search][0]).path / "rounds.parquet"
    before = read_json(results.winner(search))
    pd.read_parquet(trial).assign(val_accuracy=0.9).to_parquet(trial, index=False)
    run = plan.runs[run_id]
    assert Collected(pd.DataFrame(), results.runs).winner(search, run) == before
    results.winner(search).unlink()
    assert Collected(pd.DataFrame(), results.runs).winner(search, run) == {}
