"""`fedbench arena` with a method of one's own: what is restored, trained and said."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedbench.__main__ import app
from fedbench.cli import compare_methods
from fedbench.cli.compare_methods import SHIPPED
from fedbench.jobs.export_and_restore import export
from fedbench.plan.plan import make_plan
from fedbench.store import Results
from tests.jobs.made_runs import finish
from tests.project import ROOT
from tests.test_plugins import METHOD, plug

EXAMPLE = ROOT / "fedbench/cli/example"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the method `brand`; `started` notes what is given to Snakemake."""
    monkeypatch.setattr(compare_methods, "SHIPPED", "none")
    monkeypatch.chdir(plug(tmp_path, methods=METHOD))
    return tmp_path


@pytest.fixture
def started(monkeypatch):
    commands = []

    def start(command, **options):
        """Train what was asked for: two rounds, made up."""
        asked = json.loads(Path(command[command.index("--configfile") + 1]).read_text())
        commands.append(asked)
        for cell in make_plan(ROOT / "workflow", asked["scale"], ("arena",)).cells:
            if asked["train"] == cell.coords["method"]:
                finish(Path(asked["results"]), cell.run)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", start)
    return commands


def arena(*words):
    return CliRunner().invoke(app, ["arena", *words], catch_exceptions=False)


def said(done):
    return " ".join(done.output.split())


def test_only_the_own_method_is_trained_beside_those_that_were_published(folder, started):
    plan = make_plan(ROOT / "workflow", "demo", ("arena",))
    theirs = {cell.run_id: cell.run for cell in plan.cells if cell.coords["method"] != "brand"}
    for spec in theirs.values():
        finish(folder / "made", spec)
    export(plan, "arena", folder / "made", folder / "results/published")
    done = arena("--with", "brand")
    assert done.exit_code == 0
    asked = {"train": "brand", "papers": "arena", "scale": "demo", "results": "results"}
    assert asked.items() <= started[0].items()
    assert f"2 runs trained, {len(theirs)} restored. The page: reports/demo/arena.html" in said(
        done
    )
    assert "2 runs trained." not in said(done)
    assert "0 runs trained." in said(arena("--with", "brand"))  # a second call has nothing to do


def test_a_run_that_was_trained_here_too_stays_as_it_is(folder, started):
    plan = make_plan(ROOT / "workflow", "demo", ("arena",))
    first, second = (cell.run for cell in plan.cells[:2])
    for spec in (first, second):
        finish(folder / "made", spec)
    export(plan, "arena", folder / "made", folder / "results/published")
    finish(folder / "results", first, accuracy=0.9)
    mine = Results(folder / "results").run(first.id).record()
    assert ", 1 restored" in said(arena("--with", "brand"))  # the second
    assert Results(folder / "results").run(first.id).record() == mine


def test_published_runs_of_another_scale_are_left_where_they_are(folder, started):
    cpu = make_plan(ROOT / "workflow", "cpu", ("arena",))
    finish(folder / "made", cpu.cells[0].run)
    export(cpu, "arena", folder / "made", folder / "results/published")
    assert said(arena("--with", "brand")).startswith("2 runs trained; ")  # nothing is restored
    assert not Results(folder / "results").run(cpu.cells[0].run_id).path.exists()
    assert not Results(folder / "results").data("cifar10").exists()


def test_all_other_methods_come_with_fedbench_at_demo_scale(folder, started, monkeypatch):
    monkeypatch.setattr(compare_methods, "SHIPPED", SHIPPED)
    plan = make_plan(ROOT / "workflow", "demo", ("arena",))
    theirs = {cell.run_id for cell in plan.cells if cell.coords["method"] != "brand"}
    assert said(arena("brand")).startswith(f"2 runs trained, {len(theirs)} restored.")


def test_methods_without_any_run_are_counted(folder, started):
    methods = {c.coords["method"] for c in make_plan(ROOT / "workflow", "demo", ("arena",)).cells}
    words = said(arena("--with", "brand"))
    assert words.startswith(
        f"2 runs trained; {len(methods) - 1} of {len(methods)} methods have no run"
    )
    assert "`fedbench arena --scale demo` trains" in words


def cost_of(what, done):
    """The runs in that row of the costs."""
    (row,) = (line for line in done.output.splitlines() if line.startswith(f"│ {what} "))
    return int(row.split("│")[2])


def test_a_plan_says_what_the_own_method_costs_alone(folder, started):
    done = arena("--with", "brand", "--plan")
    methods = {c.coords["method"] for c in make_plan(ROOT / "workflow", "demo", ("arena",)).cells}
    assert cost_of("all, shared runs once", done) == 2 * len(methods)  # two splits, one seed
    assert cost_of("brand alone", done) == 2
    assert cost_of("brand, FedAvg alone", arena("brand", "FedAvg", "--plan")) == 4
    assert "alone" not in arena("--plan").output.partition("Hours follow")[0]
    assert started == []


def test_the_commands_of_the_page_hold_with_its_line_and_without(tmp_path, monkeypatch):
    monkeypatch.chdir(plug(tmp_path, methods=(EXAMPLE / "methods/shrink.py").read_text()))
    asked = ("--with", "shrink", "--scale", "cpu", "--plan")
    # on each of two splits three rates, and three seeds with the best
    assert cost_of("shrink alone", arena(*asked)) == 2 * (3 + 3)
    (line,) = re.findall("`(shrink: .+)`", (ROOT / "docs/howto/bench.md").read_text())
    Path("compositions.yaml").write_text(line)
    assert cost_of("shrink alone", arena(*asked)) == 2 * (3 * 3 + 3)


def test_a_name_that_is_no_method_is_one_sentence(folder, started):
    done = arena("--with", "brannd")
    assert (done.exit_code, started) == (2, [])
    assert "no method in this plan 'brannd'; did you mean 'brand'?" in said(done)
    assert not (folder / "results").exists()
