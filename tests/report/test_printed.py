"""The printed numbers against the transcript, and how a bad file is refused."""

import csv
from pathlib import Path

import pytest

from fedbench.base.files import read_text
from fedbench.paper.grid_points import expanded
from fedbench.paper.paper import Paper
from fedbench.paper.printed_numbers import (
    Place,
    check_printed,
    printed_numbers,
    read_printed,
    table_places,
)
from tests.project import ROOT, Refuses
from tests.report.claim_case import HEADER

PRINTED = ROOT / "workflow/papers/rmfl.printed.csv"
TRANSCRIPT = ROOT / "tests/paper/transcript.csv"
METRICS = {"test_accuracy_frac": "accuracy", "macro_f1_frac": "macro_f1"}


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def from_transcript(row: dict[str, str]) -> tuple[str, ...]:
    alpha = next(part for part in row["setting"].split(";") if part.startswith("alpha="))
    place = ("table1", row["dataset"], alpha, row["method"], METRICS[row["metric"]])
    return (*place, row["mean"], row["std"])


def differences(path: Path) -> set[tuple[str, ...]]:
    expected = {from_transcript(row) for row in rows(TRANSCRIPT) if row["paper"] == "RMFL"}
    return expected ^ {tuple(row.values()) for row in rows(path)}


def test_every_printed_number_is_the_specifications() -> None:
    assert differences(PRINTED) == set()
    assert len(rows(PRINTED)) == 36


@pytest.mark.parametrize("line", range(36))
def test_one_wrong_digit_is_found(line: int, tmp_path: Path) -> None:
    text = read_text(PRINTED).splitlines()
    last = text[line + 1][-1]
    text[line + 1] = text[line + 1][:-1] + str((int(last) + 1) % 10)
    changed = tmp_path / "changed.csv"
    changed.write_text("\n".join(text), encoding="utf-8")
    assert len(differences(changed)) == 2


def test_reads_numbers_by_place(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(HEADER + "t,MNIST,alpha=1;C=0.2,FedAvg,accuracy,70.5,\n", encoding="utf-8")
    ((place, stat),) = read_printed(path).numbers.items()
    assert place == Place("t", "MNIST", "alpha=1;C=0.2", "FedAvg", "accuracy")
    assert (stat.mean, stat.std) == (70.5, None)


def test_no_file_means_no_number(tmp_path: Path) -> None:
    assert read_printed(tmp_path / "none.csv").numbers == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("table,mean\n", "the columns must be"),
        (HEADER + "t,a,b,c,d,seven,1\n", "line 2: mean = 'seven' and std = '1' must be finite"),
        (HEADER + "t,a,b,c,d,1,1\nt,a,b,c,d,2,1\n", "line 3 repeats"),
    ],
)
def test_refuses_in_a_sentence(refuses: Refuses, text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(text, encoding="utf-8")
    with refuses(words):
        read_printed(path)


def paper_of(levels: list[object], folder: Path, *settings: str) -> Paper:
    """A paper with one table of these levels of `a`, which prints a number at each setting."""
    lines = [
        f"t,digits,{setting},FedAvg,accuracy,{50 + i},\n" for i, setting in enumerate(settings)
    ]
    (folder / "p.yaml").write_text("")
    (folder / "p.printed.csv").write_text(HEADER + "".join(lines))
    axes = {"a": levels, "b": ["x=1", "y"], "method": ["FedAvg"]}
    each = {"each": {"dataset": "digits"}}
    return Paper(
        title="t", authors="a", levels={"a": each, "b": each},
        grids={"g": {"axes": axes, "seeds": [0]}},
        tables={"t": {"title": "T", "grid": "g", "rows": ["a", "b"]}},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("levels", "setting", "home"),
    [
        ([1.0, 10], "a=1.0", "a=1"),
        ([1.0, 10], "a=10.00", "a=10"),
        ([1, 10], "a=1e1", "a=10"),
        ([0.0001, 1], "a=1e-4", "a=0.0001"),
        ([1000000, 1], "a=1e6", "a=1000000"),
        ([0.1234567, 0.1234568], "a=.1234568", "a=0.1234568"),
        (["2.1", "2.10"], "a=2.10", "a=2.10"),  # texts, which are not compared as numbers
        (["2.1", "2.10"], "a=2.1", "a=2.1"),
        ([1, 10], "a=7.0", "a=7.0"),
    ],
)
def test_a_number_is_found_however_it_is_spelled(
    levels: list[object], setting: str, home: str, tmp_path: Path
) -> None:
    paper = paper_of(levels, tmp_path, f"{setting};b=x=1")
    found = printed_numbers(tmp_path / "p.yaml", paper)
    assert [place.setting for place in found.numbers] == [f"{home};b=x=1"]
    assert [stat.line for stat in found.numbers.values()] == [2]
    if home != "a=7.0":
        check_printed(found, paper, table_places(paper, expanded(tmp_path, paper)))


def test_one_place_has_one_number(refuses: Refuses, tmp_path: Path) -> None:
    paper = paper_of([1.0, 10], tmp_path, "a=1;b=y", "a=1.0;b=y")
    with refuses("p.printed.csv: line 3 repeats line 2"):
        printed_numbers(tmp_path / "p.yaml", paper)
