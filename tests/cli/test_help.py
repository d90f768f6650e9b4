"""What a newcomer types first: the version, the lists, and commands in a folder of their own."""

import shutil
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import fedbench
from fedbench.__main__ import app
from fedbench.cli.app import Panel
from fedbench.plan.plan import make_plan
from fedbench.plan.plan_file import planned_file, write_plan
from tests.plan.bare import bare_plan
from tests.project import make_project


def typed(*args):
    return CliRunner().invoke(app, [str(a) for a in args], catch_exceptions=False)


def test_the_version_is_the_packages():
    assert typed("--version").output == f"fedbench {fedbench.__version__}\n"


def test_a_list_shows_default_and_range():
    words = " ".join(typed("list", "methods", "--full").output.replace("│", " ").split())
    assert "mu = 0.01, a number ≥ 0" in words


@pytest.mark.parametrize(
    "command", ["run", "plan", "train", "claims", "report", "export", "restore"]
)
def test_every_option_of_a_command_is_explained(command):
    for name, option in typed_options(command).items():
        assert option.help, f"{command}: {name}"


# What these name is added to what a command does without them.
ADDITIONS = {"own", "tune", "settings", "targets", "only", "out", "first"}


@pytest.mark.parametrize("command", get_command(app).commands)
def test_every_default_is_said_and_said_once(command):
    for name, option in typed_options(command).items():
        if not option.required and name not in ADDITIONS:
            shown = option.show_default and option.default not in (None, "")
            assert shown != ("Default: " in option.help), f"{command}: {name}"


def test_commands_stand_under_headings_and_those_of_the_workflow_come_last():
    group = get_command(app)
    listed = group.list_commands(group.make_context("fedbench", ["list", "methods"]))
    assert set(listed) == set(group.commands)
    headings = [group.commands[name].rich_help_panel for name in listed]
    assert list(dict.fromkeys(headings)) == list(Panel)
    steps = typed("--help").output.partition("Steps that the workflow calls")[2]
    assert [name for name in ("train", "collect", "run ", "arena") if name in steps] == [
        "train",
        "collect",
    ]


def typed_options(command):
    options = get_command(app).commands[command].params
    return {option.name: option for option in options}


def test_printed_numbers_lie_beside_the_papers_of_the_folder_named(tmp_path, monkeypatch):
    make_project(tmp_path)
    shutil.move(tmp_path / "workflow", tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path)  # relative paths mean the working folder
    write_plan(make_plan(Path("elsewhere"), "paper"), Path("results"))
    done = typed("report", "--scale", "paper", "--workflow", "elsewhere", "--out", "pages")
    assert done.exit_code == 0, done.output
    table = (tmp_path / "pages/paper/tables/tiny/table1.csv").read_text()
    assert "FedAvg,accuracy,90,1," in table
    assert "There is no file" not in (tmp_path / "pages/paper/tiny.html").read_text()


def test_a_table_that_asks_for_printed_numbers_needs_the_file(tmp_path, monkeypatch):
    folder = make_project(tmp_path)
    file = folder / "workflow/papers/tiny.yaml"
    file.write_text(file.read_text().replace("title: Table II,", "title: T, printed: table1,"))
    (folder / "workflow/papers/tiny.printed.csv").unlink()
    monkeypatch.chdir(folder)
    done = typed("plan", "--scale", "paper", "--json")
    assert done.exit_code == 2
    assert "there is no such file, but tables.table2.printed = 'table1' asks" in done.output


@pytest.mark.parametrize("args", [("plan", "--papers", "tinny"), ("claims", "--papers", "tinny")])
def test_an_unknown_paper_is_one_sentence(tmp_path, monkeypatch, args):
    monkeypatch.chdir(make_project(tmp_path))
    done = typed(*args, "--scale", "paper")
    assert done.exit_code == 2
    assert done.output.startswith(
        "error: no paper 'tinny'; did you mean 'tiny'? (looked in papers/"
    )
    assert done.output.count("error") == 1


def test_a_search_that_no_run_asks_for_is_one_sentence(tmp_path):
    write_plan(bare_plan([], trials={"abc": []}), tmp_path)
    plan = planned_file(tmp_path, "demo")
    done = typed("select", "abc", "--plan", plan, "--results", tmp_path)
    assert done.exit_code == 2
    assert "no run in this plan asks for the search 'abc'" in done.output
