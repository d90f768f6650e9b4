"""Every number that the papers print stands once in our files, under its data set and method."""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import permutations

import pandas as pd
import pytest

from tests.project import ROOT

TRANSCRIPT = ROOT / "tests/paper/transcript.csv"  # what the papers print, in the papers' own words
PAPERS = ROOT / "workflow/papers"
TITLES = {"fedadc": "FedADC", "feddpc": "FedDPC", "rmfl": "RMFL", "fedgkd": "FedGKD", "asd": "ASD"}
# What our tables are called in the transcript, unless 'table3' is 'Table 3'.
TABLES = {
    "rmfl": {"table1": "Table I"},
    "feddpc": {"table2_rounds": "Table 2", "table2_seconds": "Table 2"},
    "fedadc": {"table1": "Table I", "fig7_gains": "Fig 7", "coverage_gain": "Section IV-E"},
    "fedgkd": {"fig2numbers": "Fig 2"},
    "asd": {"fig11numbers": "Fig 11"},
}
# Names in the transcript that are ours in other words, by paper.
METHODS = {
    "fedadc": {
        "calibration (lowest)": "FedADC+",
        "calibration (highest)": "FedADC+",
        "coverage selection": "FedADC",
    },
}


@dataclass(frozen=True)
class Number:
    """A printed number; `setting` in free words, of which the numbers are compared."""

    table: str
    dataset: str
    method: str
    mean: float
    std: float | None
    setting: str

    @property
    def key(self) -> tuple[object, ...]:
        return self.table, self.dataset, self.mean, self.std

    def stands_for(self, other: "Number") -> bool:
        """Whether our method, if we name one, and all numbers of our setting are theirs too."""
        ours, theirs = (Counter(re.findall(r"\d+\.?\d*", n.setting)) for n in (self, other))
        return ours <= theirs and self.method in ("", other.method)


def ours(paper: str) -> list[Number]:
    frame = pd.read_csv(PAPERS / f"{paper}.printed.csv", dtype=str, keep_default_na=False)
    names = {key: key.replace("table", "Table ") for key in frame["table"]} | TABLES[paper]
    frame["table"] = frame["table"].map(names)
    return [number(row) for _, row in frame.iterrows()]


def printed(paper: str) -> list[Number]:
    frame = pd.read_csv(TRANSCRIPT, dtype=str, keep_default_na=False).query(
        "paper == @TITLES[@paper]"
    )
    names = METHODS.get(paper, {})
    frame["method"] = [names.get(name, name) for name in frame["method"]]
    return [number(row) for _, row in frame.iterrows()]


def number(row: "pd.Series[str]") -> Number:
    std = float(row["std"]) if row["std"] else None
    where = (row["table"], row["dataset"], row["method"])
    return Number(*where, float(row["mean"]), std, row["setting"])


def strays(found: list[Number], wanted: list[Number]) -> list[tuple[object, ...]]:
    """Keys whose numbers are not one to one the same in both."""
    keys = dict.fromkeys(n.key for n in found + wanted)
    pairs = {k: [[n for n in side if n.key == k] for side in (found, wanted)] for k in keys}
    return [key for key, (own, theirs) in pairs.items() if not matched(own, theirs)]


def matched(own: list[Number], theirs: list[Number]) -> bool:
    return len(own) == len(theirs) and any(
        all(n.stands_for(m) for n, m in zip(own, order, strict=True))
        for order in permutations(theirs)
    )


def test_all_of_the_transcript_is_compared() -> None:
    found = pd.read_csv(TRANSCRIPT, dtype=str)["paper"]
    assert (len(found), set(found)) == (692, set(TITLES.values()))


@pytest.mark.parametrize("paper", TITLES)
def test_each_printed_number_is_there_once(paper: str) -> None:
    assert strays(ours(paper), printed(paper)) == []
