"""What was collected of a paper: a value or a curve per run, tables, and what guessing gives."""

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from math import inf, sqrt
from pathlib import Path
from statistics import fmean

import numpy as np
import pandas as pd

from fedbench.base.checksums import canonical
from fedbench.base.errors import FedbenchError
from fedbench.base.files import exists, read_json
from fedbench.paper import history_metrics
from fedbench.paper.metrics import Metric, is_accuracy
from fedbench.plan.data_checks import data_key
from fedbench.plan.plan import Plan
from fedbench.plan.search import Winner, is_as_chosen, select
from fedbench.spec import Choice, RunSpec
from fedbench.store import Results, RunFolder, RunState, Status, read_facts, read_frame


def holdings(clients: pd.DataFrame) -> pd.DataFrame:
    """By client its samples, its classes, and 1 where these are at most two or at least four."""
    if clients.empty:
        return clients
    held = clients.groupby("client")["count"].agg(samples="sum", classes="size").reset_index()
    few, many = held["classes"] <= 2, held["classes"] >= 4
    return held.assign(few=few.astype(int), many=many.astype(int))


_COLUMNS = ["run_id", "status", "round", "rounds", "eval_every"]


def read(path: Path) -> pd.DataFrame:
    """The collected frame; an empty one without a file or runs, so that every run is missing."""
    frame = read_frame(path) if exists(path) else pd.DataFrame()
    if frame.empty:
        return pd.DataFrame({name: pd.Series(dtype=object) for name in _COLUMNS})
    if absent := [name for name in _COLUMNS if name not in frame]:
        raise FedbenchError(f"{path}: no column '{absent[0]}'; collect the runs again")
    for name in ("round", "accuracy"):
        if name in frame and not pd.api.types.is_numeric_dtype(frame[name]):
            raise FedbenchError(f"{path}: column '{name}' has no numbers; collect the runs again")
    repeated = frame[frame.duplicated(["run_id", "round"])]
    if len(repeated):
        run, at = repeated.iloc[0][["run_id", "round"]]
        raise FedbenchError(f"{path}: run {run} has round {at} twice; collect the runs again")
    return prepared(frame)


def prepared(frame: pd.DataFrame) -> pd.DataFrame:
    """What was collected, by rounds, with the columns that follow from others."""
    return history_metrics.with_derived(frame.sort_values("round", kind="stable"))


def states(frame: pd.DataFrame) -> dict[str, RunState]:
    """How each run ended, finished or diverged, and after which round."""
    last = frame.drop_duplicates("run_id", keep="last")
    rows = zip(last["run_id"], last["status"], last["round"], strict=True)
    return {run: RunState(Status(how), int(at)) for run, how, at in rows}


def texts(frame: pd.DataFrame, column: str) -> dict[str, str]:
    """By run what the column says, where it says anything."""
    if column not in frame:
        return {}
    rows = frame.dropna(subset=[column]).drop_duplicates("run_id")
    return {run: text for run, text in zip(rows["run_id"], rows[column], strict=True) if text}


def tuned(frame: pd.DataFrame) -> dict[str, str]:
    """By run that has a search what it chose: 'lr=0.03, the best of 4 by the last accuracy …'."""
    how = texts(frame, "search")
    chosen = {run: json.loads(text) for run, text in texts(frame, "tuned").items()}
    pairs = {run: [f"{name}={value}" for name, value in of.items()] for run, of in chosen.items()}
    return {run: ", ".join([*told, how[run]]) for run, told in pairs.items() if run in how}


def curves(frame: pd.DataFrame, metric: str, runs: list[RunSpec]) -> pd.DataFrame:
    """The metric, evaluated rounds × collected runs; a diverged run keeps its last value, or none.

    None is kept where its last round has no finite one, as a loss has not.
    """
    evaluated = ((*range(run.eval_every, run.rounds, run.eval_every), run.rounds) for run in runs)
    rounds = sorted({*chain(*evaluated)})
    if metric not in frame:
        return pd.DataFrame(index=rounds)
    rows = frame[frame["run_id"].isin([run.id for run in runs])]
    table = rows.pivot(index="round", columns="run_id", values=metric)
    table = table.reindex(sorted({*table.index, *rounds})).ffill()
    ends = rows[rows["status"] == "diverged"].drop_duplicates("run_id", keep="last")
    lost = ends[~np.isfinite(ends[metric].astype(float))]
    for run, at in zip(lost["run_id"], lost["round"], strict=True):
        table.loc[at:, run] = np.nan
    return table.loc[rounds]


_POINTS = 0.05  # a difference that matters, as an accuracy
_ERRORS = 2  # standard errors


@dataclass(frozen=True)
class Guess:
    """A guess of the largest class: its accuracy on `samples`, beside the number to `train`."""

    accuracy: float
    samples: int
    train: int

    def held_out(self, share: float) -> "Guess":
        """The same on a share of the training samples, as trials of a search are scored."""
        return replace(self, samples=max(1, round(share * self.train)))

    @property
    def limit(self) -> float:
        """The accuracy below which a model may only guess.

        It adds two standard errors to the guess, and five points, or half of its hits or misses
        where these are less: 15 % with 10 equal classes, 1.5 % with 100, 55 % with two, and 97.5 %
        where 95 % of the samples are of one class.
        """
        hits, misses = self.accuracy, 1 - self.accuracy
        error = sqrt(hits * misses / self.samples)
        return hits + max(min(_POINTS, hits / 2, misses / 2), _ERRORS * error)

    @property
    def learned(self) -> float:
        """The accuracy that FedAvg should reach in mild settings, for a table to mean something.

        It adds 20 points to the guess, or three times its hits or 0.3 of its misses where these are
        less: 30 % with 10 equal classes, 4 % with 100, 65 % with two.
        """
        gain = min(0.2, 3 * self.accuracy, 0.3 * (1 - self.accuracy))
        return max(self.accuracy + gain, self.limit)


GuessOf = Callable[[Choice], Guess | None]


def mean_limit(runs: Iterable[RunSpec], guess_of: GuessOf) -> float | None:
    """The mean of `Guess.limit` over the data sets of these runs; None if one says too little."""
    sets = {data_key(run.dataset): run.dataset for run in runs}.values()
    limits = [guess.limit if (guess := guess_of(each)) else None for each in sets]
    return None if None in limits else fmean(filter(None, limits))


def declared(dataset: Choice) -> Guess | None:
    """What guessing gives on a data set that says so without being loaded."""
    try:
        source = dataset.build("dataset")
    except FedbenchError:  # a data set that is given as an object
        return None
    largest, samples = source.largest_class(), source.samples()
    if not (largest and samples):
        return None
    return Guess(largest / samples[1], samples[1], samples[0])


@dataclass(frozen=True, eq=False)
class Collected:
    """What was collected of runs: one frame of their histories, and their folders below `runs`."""

    frame: pd.DataFrame = field(repr=False)
    runs: Path
    _values: dict[str, dict[str, float]] = field(default_factory=dict, init=False, repr=False)
    winners: dict[str, Winner] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def states(self) -> dict[str, RunState]:
        """How each run ended."""
        return states(self.frame)

    def values(self, metric: str) -> dict[str, float]:
        """The metric of each run at its moment, else after the last round; scores of 1.

        What a run costs that diverged is infinite: its end was not reached.
        """
        if metric not in self._values:
            found = history_metrics.values(self.frame, metric, "final")
            lost = filter(self.diverged, found) if Metric(metric).is_cost else ()
            self._values[metric] = found | dict.fromkeys(lost, inf)
        return self._values[metric]

    def diverged(self, run: str) -> bool:
        """Whether a run is finished, and diverged."""
        return run in self.states and self.states[run].status is Status.diverged

    def guess_of(self, dataset: Choice) -> Guess | None:
        """What guessing gives, by the facts beside the runs, else as the data set declares it."""
        file = Results(self.runs.parent).data(data_key(dataset))
        facts = read_facts(file)
        if facts.get("largest"):
            return Guess(facts["largest"] / facts["test"], facts["test"], facts["train"])
        return declared(dataset)

    def table(self, run: str, name: str) -> pd.DataFrame:
        """A table in a run's folder; empty without such a file, as of a run that diverged early."""
        if name == "holdings":
            return holdings(self.table(run, "clients"))
        folder = RunFolder(self.runs / run)
        folder.require_run(run)
        return folder.table(name) if folder.has(name) else pd.DataFrame()

    def winner(self, search: str, run: RunSpec) -> Winner:
        """What the search of a run chose: as its file says, or else by its trials; or empty."""
        if search not in self.winners:
            results, found = Results(self.runs.parent), Winner()
            with suppress(FedbenchError):
                found = canonical(read_json(results.winner(search)))  # one spelling of a number
            if not is_as_chosen(found, results.root):
                with suppress(FedbenchError):  # trials that are sound
                    found = select(run, results.root, self.winners)
            whole = {"chosen", "trials", "on_edge"} <= found.keys()
            self.winners[search] = found if whole else {}
        return self.winners[search]

    def near_chance(self, search: str, run: RunSpec) -> bool:
        """Whether what the search of a run chose scored next to nothing in its trials."""
        found, guess = self.winner(search, run), self.guess_of(run.dataset)
        if guess is None or (run.tune and not is_accuracy(run.tune)):
            return False
        if not found:  # it may have, where nothing is left of what the run was trained with
            return run.id in self.states
        if run.tune and run.tune.on == "held-out":
            guess = guess.held_out(run.tune.share)
        chosen = found["chosen"].items()
        scores = [trial["score"] for trial in found["trials"] if chosen <= trial.items()]
        return bool(scores) and (scores[0] or 0.0) < guess.limit

    def tuned_near_chance(self, plan: Plan, paper: str) -> frozenset[str]:
        """The paper's runs whose settings were chosen by trials that learned next to nothing."""
        runs, of = plan.of_paper(paper).items(), plan.searches
        return frozenset(x for x, run in runs if x in of and self.near_chance(of[x], run))
