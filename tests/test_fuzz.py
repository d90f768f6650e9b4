"""Thousands of odd inputs: each is a plan or a sentence, none is a traceback, none starts anything.

300 cases of each kind, in two groups that take as long, and 2,000 in CI;
`FEDBENCH_FUZZ=10000 pytest tests/test_fuzz.py` makes more of them.
"""

import contextlib
import io
import json
import os
import sys
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, currently_in_test_context, given, note, settings
from hypothesis import strategies as st
from typer.main import get_command

from fedbench.__main__ import app
from fedbench.base.errors import FedbenchError
from fedbench.base.yamlfile import load
from fedbench.engine import training
from fedbench.plan.cost import Speeds, by_table, measured_speeds
from fedbench.plan.plan import make_plan
from fedbench.plan.plan_file import PlanFile, to_json
from fedbench.spec import RunSpec
from fedbench.store import RunFolder
from tests.mutants import ODD, document, edits

COMMAND = get_command(app)  # once: it takes as long as most commands
CASES = int(os.environ.get("FEDBENCH_FUZZ", "300"))
fuzz = settings(
    max_examples=CASES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)

SPEC = {
    "dataset": {"digits": {}},
    "model": {"mlp": {"hidden": 4, "depth": 1}},
    "partition": {"dl": {"alpha": 0.1, "group": 5}},
    "parts": [{"fedprox": {"mu": 0.1}}, "feddyn"],
    "clients": 4, "participation": 0.5, "rounds": 3, "epochs": 1, "batch": 10, "lr": 0.1,
    "optimizer": "adam", "betas": [0.9, 0.99], "clip": 1.0, "validation": 0.1, "seed": 1,
    "augment": {"crop": 1, "flip": 0.5},
    "watch": [{"steps": {"every": 2}}],
    "tune": {"grid": {"lr": [0.1, 0.2], "fedprox.mu": [0.1]}, "by": "best", "on": "test",
             "trials": {"parts": ["fedprox"]}},
}  # fmt: skip
GREATER = {"text": "Better.", "kind": "greater", "grid": "main", "winner": "FedProx",
           "loser": ["FedAvg"], "by": 1, "margin": 0.5, "negate": True,
           "metrics": ["accuracy@mean:2"], "where": {"alpha": 1}}  # fmt: skip
TINY = {
    "title": "A tiny paper",
    "authors": "Nobody",
    "settings": {"model": {"mlp": {"hidden": 4}}, "clients": 4, "rounds": 2, "watch": ["steps"]},
    "always": [{"fedrs": {}}],
    "levels": {
        "dataset": {"Digits": {"dataset": "digits"}},
        "method": {"FedProx": {"parts": [{"fedprox": {"mu": 0.1}}]}},
        "alpha": {"each": {"partition": {"dr": {"alpha": "$"}}}},
    },
    "grids": {
        "main": {
            "axes": {"dataset": ["Digits"], "alpha": [1, 0.1], "method": ["FedAvg", "FedProx"]},
            "seeds": [0, 1],
            "settings": {"lr": 0.1},
            "without": [{"alpha": 0.1, "method": "FedAvg"}],
            "cases": [{"where": {"method": "FedProx"}, "settings": {"fedprox.mu": 0.2}}],
        }
    },
    "tables": {
        "table1": {"title": "Table I", "grid": "main", "rows": ["dataset", "alpha"],
                   "metrics": ["accuracy", "macro_f1@best"], "at": "final", "digits": 2,
                   "where": {"alpha": [1]}, "over": [], "controls": ["FedAvg"]}
    },
    "figures": {
        "fig1": {"title": "Fig. 1", "grid": "main", "where": {"alpha": 1}, "metric": "loss",
                 "kind": {"curves": {"smooth": 2}}, "panels": [], "hue": "method"},
        "fig2": {"title": "Fig. 2", "grid": "main", "kind": {"levels": {"axis": "alpha"}}},
    },
    "facts": {"cost": {"title": "Costs", "kind": {"costs": {"methods": ["FedProx"]}}}},
    "claims": {
        "better": GREATER,
        "rises": {"text": "Rises.", "kind": "trend", "grid": "main", "of": "FedProx",
                  "along": {"alpha": [0.1, 1]}, "steps": "overall", "cells": "most"},
        "both": {"text": "Both.", "kind": "together", "claims": ["better", "slope"]},
        "slope": {"text": "Falls.", "kind": "slope", "grid": "main", "of": "FedProx",
                  "goes": "down", "metrics": ["gradient_cosine_slope@mean"]},
    },
}  # fmt: skip
SMALL = {
    "title": "A small paper",
    "authors": "Nobody",
    "settings": {"clients": 4, "parts": ["fedprox"], "dataset": "cifar10"},
    "grids": {"main": {"axes": {"lr": [1, 0.1], "method": ["FedAvg"]}, "seeds": [0]}},
    "tables": {"table1": {"title": "Table I", "grid": "main", "rows": ["lr"]}},
    "figures": {"fig1": {"title": "Fig. 1", "grid": "main", "panels": ["lr"]}},
}
PRINTED = """table,dataset,setting,method,metric,mean,std
table1,cifar10,lr=1,FedAvg,accuracy,90.0,1.0
table1,cifar10,lr=0.1,FedAvg,accuracy,91.0,
"""
SCALE = {
    "about": "Small.", "seeds": 1, "tune": False, "factors": {"rounds": 0.5, "lr": 2},
    "limit": {"clients": 4}, "settings": {"eval_every": 1}, "keep": ["table1", "fig1"],
    "substitutes": {"dataset": {"cifar10": "digits"}, "parts": {"fedprox": {"fedprox": {"mu": 2}}}},
    "levels": {"lr": [1]}, "speeds": {"mlp(hidden=4)": 1000.0},
    "papers": {"tiny": {"seeds": 2, "limit": {"rounds": 1}}},
}  # fmt: skip
RECORD = {
    "id": "x", "status": "finished", "resolved": {"model": {"mlp": {"hidden": 4}}},
    "seconds": {"train": 1.5}, "device": "cpu", "sample_passes": 100, "rounds": 2,
    "data": {"name": "digits", "checksum": "0123"}, "files": {"rounds.parquet": "0123"},
}  # fmt: skip
COMMANDS = (
    ("plan", "--scale", "paper"),
    ("plan", "--scale", "paper", "--papers", "tiny", "--tables", "tiny/table1,fig1", "--json"),
    ("run", "spec.yaml", "--out", "out", "--device", "cpu", "--workers", "1"),
    ("train", "results/runs/a/.done", "b", "--plan", "plan.json", "--results", "none"),
    ("select", "0123456789ab", "--plan", "plan.json", "--results", "none"),
    ("collect", "tiny", "--plan", "plan.json", "--out", "out/tiny.parquet"),
    ("claims", "--scale", "paper", "--papers", "tiny", "--results", "none"),
    ("list", "papers", "--workflow", "workflow"),
    ("data", "file", "--set", "path=my.csv", "--set", "test=0.4", "--data-dir", "."),
    ("partition", "dl", "--set", "alpha=1", "--clients", "4", "--dataset", "{toy: {}}", "--first"),
)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project to plan in, and the working folder of the commands."""
    folder = tmp_path_factory.mktemp("fuzz")
    for workflow, paper in (("workflow", SMALL), ("another", TINY)):
        for name in ("papers", "scales"):
            (folder / workflow / name).mkdir(parents=True)
        (folder / workflow / "papers/tiny.yaml").write_text(document(paper, []))
        (folder / workflow / "scales/paper.yaml").write_text("about: As printed.\n")
    (folder / "workflow/papers/tiny.printed.csv").write_text(PRINTED)
    (folder / "results.fuzz/runs/x.fuzz").mkdir(parents=True)
    (folder / "results.fuzz/runs/x.fuzz/run.json").write_text("{}")
    (folder / "spec.yaml").write_text("rounds: 1\nclients: 2\n")
    (folder / "my.csv").write_text("a,kind\n" + "1,x\n2,y\n" * 5)
    (folder / "plan.json").write_text(to_json(make_plan(folder / "workflow", "paper")))
    return folder


@pytest.fixture(autouse=True)
def _in_the_project(project, monkeypatch):
    """Nothing may be trained, and whatever the cases were, nothing may have been made."""
    monkeypatch.chdir(project)
    before = sorted(project.rglob("*"))
    yield
    made = [file for file in sorted(project.rglob("*")) if file not in before]
    assert not [file for file in made if file.suffix != ".fuzz"]


class _NoTorch:
    """Finds every module but one."""

    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise AssertionError("planning asked for torch")


@pytest.fixture
def without_torch(monkeypatch):
    """Planning must not even ask for it."""
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setattr(sys, "meta_path", [_NoTorch(), *sys.meta_path])


@pytest.fixture
def untrained(monkeypatch):
    """A run that would be trained is only said to be."""
    monkeypatch.setattr(
        training,
        "run",
        lambda *args, **kwargs: SimpleNamespace(
            record={"status": "finished", "rounds": 1, "resolved": {}}
        ),
    )


@pytest.mark.parametrize("base", ["SPEC", "TINY", "SCALE", "RECORD"])
def test_the_documents_are_valid_before_they_are_edited(project, base):
    """Else every edit would meet the same error."""
    text = document(globals()[base], [], plain=base != "RECORD")
    names = {"TINY": "another/papers/tiny.yaml", "SCALE": "workflow/scales/paper.yaml"}
    if base in names:
        assert not isinstance(_planned_with(project, names[base], text), str)
    elif base == "SPEC":
        rewritten(project / "spec.fuzz", text)
        assert load(project / "spec.fuzz", RunSpec).id.startswith("digits-mlp-dl-fedprox-feddyn")
    else:
        assert measured_speeds(_recorded(project, text)).core == {"mlp(hidden=4)": 100 / 1.5}


def outcome(call):
    """What the call gives, or the sentence with which it refuses; anything else is an error."""
    try:
        return call()
    except FedbenchError as error:
        text = str(error)
        assert text.isprintable(), text
        assert 3 < len(text) < 500
        return text


def rewritten(file, text):
    """The file with another content, also where that is no text."""
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    if currently_in_test_context():
        note(text)


@fuzz
@given(changes=edits)
def test_run_specs(project, changes):
    file = project / "spec.fuzz"
    rewritten(file, document(SPEC, changes))
    found = outcome(lambda: load(file, RunSpec).id)
    assert "\n" not in found


@fuzz
@given(changes=edits)
def test_papers(project, without_torch, changes):
    _planned_with(project, "another/papers/tiny.yaml", document(TINY, changes))


@fuzz
@given(changes=edits)
def test_scales(project, without_torch, changes):
    _planned_with(project, "workflow/scales/paper.yaml", document(SCALE, changes))


_cell = st.sampled_from((*ODD, "\x00", "\ud800", "\r", '"'))


@fuzz
@given(st.lists(st.tuples(st.integers(0, 30), _cell, st.booleans()), min_size=1, max_size=3))
def test_printed_numbers(project, without_torch, changes):
    cells = PRINTED.replace("\n", ",\n,").split(",")
    for place, text, quotes in changes:
        cells[place % len(cells)] = f'"{text}"' if quotes else text
    text = ",".join(cells).replace(",\n,", "\n")
    _planned_with(project, "workflow/papers/tiny.printed.csv", text)


def _planned_with(project, name, text):
    """What the plan with one file of a workflow rewritten says; the file is put back."""
    file = project / name
    kept = file.read_bytes()
    try:
        rewritten(file, text)
        return outcome(lambda: _told(make_plan(project / name.partition("/")[0], "paper")))
    finally:
        file.write_bytes(kept)


def _told(plan):
    """What `fedbench plan` goes on to say."""
    return len(to_json(plan)), by_table(plan, Speeds())


@fuzz
@given(changes=edits, plan=st.booleans())
def test_records_and_plans(project, without_torch, changes, plan):
    if plan:
        base = json.loads((project / "plan.json").read_text())
        rewritten(project / "plan.fuzz", document(base, changes, plain=False))
        outcome(lambda: PlanFile(project / "plan.fuzz").plan())
        return
    results = _recorded(project, document(RECORD, changes, plain=False))
    outcome(lambda: measured_speeds(results))
    outcome(lambda: str(RunFolder(results / "runs/x.fuzz").finished("x")))


def _recorded(project, text):
    """The results folder, its one record rewritten."""
    file = project / "results.fuzz/runs/x.fuzz/run.json"
    rewritten(file, text)
    return project / "results.fuzz"


@fuzz
@given(
    command=st.sampled_from(COMMANDS),
    changes=st.lists(
        st.tuples(st.sampled_from(("set", "add", "drop")), st.integers(0, 9), st.sampled_from(ODD)),
        max_size=2,
    ),
)
def test_command_lines(project, untrained, command, changes):
    words = list(command)
    for how, place, odd in changes:
        at = place % (len(words) + 1)
        words[at : at + (how != "add")] = [] if how == "drop" else [odd]
    note(words)
    said = io.StringIO()
    with (
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
        pytest.raises(SystemExit) as left,
    ):
        COMMAND.main(words)
    text = said.getvalue()
    assert left.value.code in (0, 2), text
    if left.value.code == 2 and "─ Error ─" not in text:  # Typer's own, on a strange option
        assert text.startswith("error: ")
        assert text.count("\n") == 1
