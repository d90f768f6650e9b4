"""What a search of settings chose, and whether its trials had learned enough to choose."""

from collections.abc import Callable, Container
from contextlib import suppress

from fedbench.base.errors import FedbenchError
from fedbench.base.files import read_json
from fedbench.plan.plan import Plan
from fedbench.plan.search import Winner, is_accuracy, select, trial_runs
from fedbench.report.values.guessing import GuessOf
from fedbench.spec import RunSpec
from fedbench.store import Results

WinnerOf = Callable[[str, RunSpec], Winner]  # by the id of the search, and a run that it serves


def winner(search: str, run: RunSpec, results: Results) -> Winner:
    """What the search of a run chose; empty if it has not yet, a trial failed, or one is damaged.

    It is chosen anew from the trials: the file may have been edited since, or deleted. Where not
    all trials are there, the file is all that is known.
    """
    trials = trial_runs(run)
    found: Winner = {}
    with suppress(FedbenchError):
        if trials and all(results.run(trial.id).has_record() for trial in trials):
            found = select(run, trials, results.root)
        else:
            found = read_json(results.winner(search))
    return found if {"chosen", "trials", "on_edge"} <= found.keys() else {}


def near_chance(found: Winner, run: RunSpec, guess_of: GuessOf, trained: bool = False) -> bool:
    """Whether what the search chose scored next to nothing in its trials.

    That is the best score, unless a trial with a better one diverged. A run that was `trained` with
    a choice of which nothing is left may be one of these, and counts as one.
    """
    guess = guess_of(run.dataset)
    if run.tune and not is_accuracy(run.tune):
        return False
    if guess and run.tune and run.tune.on == "held-out":
        guess = guess.held_out(run.tune.share)
    if guess is None or not found:
        return trained and guess is not None
    chosen = found["chosen"].items()
    scores = [trial["score"] for trial in found["trials"] if chosen <= trial.items()]
    return bool(scores) and (scores[0] or 0.0) < guess.limit


def chosen_near_chance(
    plan: Plan, paper: str, winner_of: WinnerOf, trained: Container[str], guess_of: GuessOf
) -> frozenset[str]:
    """The paper's runs whose settings were chosen by trials that had learned next to nothing.

    `trained`: the ids of the runs that are finished.
    """
    served = {
        cell.run_id: cell.run
        for cell in plan.cells
        if cell.paper == paper and cell.run_id in plan.searches
    }
    return frozenset(
        run_id
        for run_id, run in served.items()
        if near_chance(winner_of(plan.searches[run_id], run), run, guess_of, run_id in trained)
    )
