"""Rules that the YAML of every paper keeps, so that a stranger can read it line by line."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from fedbench.base import registry
from fedbench.paper.claims import SingleClaim, Together
from fedbench.paper.paper import Paper
from fedbench.paper.tables_and_figures import Figure
from fedbench.paper.yaml_notation import reading
from fedbench.report.claims.compared_sides import scope_of
from tests.paper import published
from tests.paper.published import plan
from tests.project import ROOT

FILES = sorted((ROOT / "workflow/papers").glob("*.yaml"))
LONGEST = 120  # characters of a mapping in braces
# HTML, Markdown and TeX: **bold**, `code`, <b>, \alpha, $x$, x_{t+1}
MARKUP = re.compile(r"\*\*|`|</?[a-z]+>|\\[A-Za-z]|\$|[_^]\{")
# Columns that the engine writes whether or not a probe watches.
ALWAYS = ("accuracy", "macro_f1", "train_loss", "step_norm", "eta", "best_round", "round_seconds")

papers = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


def braces(text: str) -> Iterator[str]:
    """The mappings in braces, nested ones too."""
    waiting = [yaml.compose(text, Loader=yaml.SafeLoader)]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, yaml.MappingNode):
            if node.flow_style:
                yield text[node.start_mark.index : node.end_mark.index]
            waiting += [child for pair in node.value for child in pair]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value


@papers
def test_no_mapping_in_braces_is_long(file: Path) -> None:
    assert [x for x in braces(file.read_text(encoding="utf-8")) if len(x) > LONGEST] == []


@papers
def test_every_level_says_what_it_stands_for(file: Path) -> None:
    levels = read(file).levels
    empty = [(axis, level) for axis, own in levels.items() for level, x in own.items() if not x]
    assert empty == []


@papers
def test_captions_and_claims_are_plain_text(file: Path) -> None:
    paper = read(file)
    shown = [*paper.tables.values(), *paper.figures.values(), *paper.facts.values()]
    texts = [paper.title, *(text for item in shown for text in (item.title, item.caption))]
    texts += [claim.text for claim in paper.claims.values()]
    assert [text for text in texts if MARKUP.search(text)] == []


def test_markup_is_recognised() -> None:
    for text in ("a **b**", "`c`", "<i>d</i>", r"\lambda", "$e$", "x_{t+1}"):
        assert MARKUP.search(text), text
    for text in ("δ = 0.3", "G_d(w, λ)", "K < 500, λ > 1", "FedDyn+ASD * 2", "x_t"):
        assert not MARKUP.search(text), text


@papers
def test_what_is_watched_is_read(file: Path) -> None:
    # by run, so that a run may watch in one grid what another grid of it reads
    read_by = set(readings(file.stem))
    watched = {
        (cell.grid, cell.run_id, probe.name)
        for cell in published.cells(file.stem)
        for probe in cell.run.watch
    }
    unread = {(grid, probe) for grid, run, probe in watched if (run, probe) not in read_by}
    assert unread == set()


def read(file: Path) -> Paper:
    return published.papers()[file.stem]


def readings(key: str) -> Iterator[tuple[str, str]]:
    """Runs and the probes of which a table, a figure or a claim of the paper shows something."""
    paper = plan().papers[key]
    for item in (*paper.tables.values(), *paper.figures.values()):
        probes = {found for metric in item.metrics for found in writers(metric)}
        if isinstance(item, Figure):
            probes.add(registry.find("figure", item.kind.name).load().reads)
        yield from pairs(key, item.grid, item.where, probes)
    for name, claim in paper.claims.items():
        if not isinstance(claim, Together):
            yield from claimed(key, name, claim)


def claimed(key: str, name: str, claim: SingleClaim) -> Iterator[tuple[str, str]]:
    """The same, of a claim: at each of its points."""
    scope = scope_of(name, claim, plan().papers[key])
    axes = plan().papers[key].grids[scope.grid].axes
    for point in scope.points:
        where = {axis: level for axis, level in point.items() if axis in axes}
        yield from pairs(key, scope.grid, where, writers(str(point["metric"])))


def pairs(key: str, grid: str, where: Any, probes: set[str]) -> Iterator[tuple[str, str]]:
    if any(probes):
        for cell in plan().select(key, grid, where):
            yield from ((cell.run_id, probe) for probe in probes)


@cache
def writers(metric: str) -> set[str]:
    """The probes that may write a column: all words of its name are in what they say of theirs."""
    name = reading(metric).metric
    probe, slash, _ = name.partition("/")
    if slash:
        return {probe}
    words = set(name.split("_"))
    return set() if name in ALWAYS else {p for p, said in columns().items() if words <= said}


@cache
def columns() -> dict[str, set[str]]:
    """The words of each probe's docstring."""
    return {
        name: set(re.findall(r"[a-z]+", registry.find("probe", name).doc.lower()))
        for name in registry.entries("probe")
    }


def test_a_probe_is_found_by_its_columns() -> None:
    assert writers("hessian_top") == {"spectrum"}
    assert writers("changes/change") == {"changes"}
    assert writers("gradient_cosine_slope@mean") == {"steps"}
    assert writers("accuracy@best") == set()
