"""`fedbench bench`, `show` and `compare` on a few runs of two rounds."""

import json
import math
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from fedbench import Machine, Part, RunSpec, compare, run
from fedbench.__main__ import app
from fedbench.base.plugins import VARIABLE
from fedbench.cli.app import console
from fedbench.cli.show import how_it_ended
from fedbench.jobs.collect import collect
from fedbench.jobs.status import COMMAND
from fedbench.jobs.train import train
from fedbench.plan.plan import make_plan
from fedbench.plan.plan_file import write_plan
from fedbench.report import build
from fedbench.store import Results, read_frame, write_frame
from fedbench.store.run import with_checksum
from tests.project import ROOT

SMALL = ("--set", "model={mlp: {hidden: 4}}", "--set", "rounds=2", "--set", "lr=0.3")
CHOSEN = ("--methods", "FedAvg,FedProx,FedSAM", "--seeds", 2, "--targets", "0.2", *SMALL)


def typed(*args):
    return CliRunner().invoke(app, [str(a) for a in args], catch_exceptions=False)


def words(done):
    return " ".join(done.output.replace("│", " ").split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A comparison of three methods that was planned, trained and collected, without Snakemake."""
    folder = tmp_path_factory.mktemp("bench") / "mine"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "")
        done = typed("bench", *CHOSEN, "--out", folder, "--plan", "--results", folder / "results")
        assert done.exit_code == 0
        assert "mine/leaderboard" in done.output
        patch.setenv(VARIABLE, str(folder))
        plan = make_plan(ROOT / "workflow", "paper", ("mine",))
        results = Results(folder / "results")
        assert train(plan.runs, [*plan.runs], results.root, Machine("cpu"), None) == []
        write_plan(plan, results.root)
        write_frame(collect([*plan.runs.values()], results.root), results.frame("paper", "mine"))
        build(plan, results.root, folder / "reports", ROOT / "workflow/papers")
    return folder


def test_the_page_has_a_leaderboard_and_fronts(folder):
    table = pd.read_csv(folder / "reports/paper/tables/mine/leaderboard.csv")
    assert len(table) == 3 * 7  # methods and metrics
    spent = table.set_index(["metric", "method"])["measured_mean"]
    assert (
        spent["thousand_sample_passes@to:0.2"]["FedSAM"] >= 2 * 1.442
    )  # two passes each way for each sample
    assert (spent["client_worst"] <= spent["accuracy"]).all()
    page = (folder / "reports/paper/mine.html").read_text()
    order = table[table["metric"] == "accuracy"].sort_values("measured_mean", ascending=False)
    board = page[page.index('id="leaderboard"') : page.index('id="rounds"')]
    places = [board.index(f">{method}<") for method in order["method"]]
    assert places == sorted(places)  # the best first
    assert "Rounds until 20 % accuracy" in board
    assert (folder / "reports/paper/figures/mine/pareto_thousand_sample_passes.svg").exists()


def test_bench_starts_the_workflow_of_its_paper(tmp_path, monkeypatch):
    started, config = [], {}

    def start(command, **options):
        started.append(command)
        config.update(json.loads(Path(command[command.index("--configfile") + 1]).read_text()))
        return subprocess.CompletedProcess(command, 7)

    monkeypatch.setattr(subprocess, "run", start)
    places = ("--out", tmp_path / "2024", "--results", tmp_path / "all #1")
    done = typed("bench", *CHOSEN, *places, "--cores", 2)
    assert done.exit_code == 7
    assert started[0][1:4] == ["-P", "-m", "snakemake"]
    assert "reproduce_all" in started[0]
    assert (config["papers"], config["scale"]) == ("2024", "paper")  # texts, not numbers
    assert config["results"] == str(tmp_path / "all #1")


def compare_seeds(folder, metric="accuracy"):
    """The metric of the last round, by seed and method."""
    frame = read_frame(Results(folder / "results").frame("paper", "mine"))
    plan = make_plan(ROOT / "workflow", "paper", ("mine",))
    methods = {cell.run_id: (cell.seed, cell.coords["method"]) for cell in plan.cells}
    last = frame[frame["round"] == 2].set_index("run_id")[metric]
    return pd.Series({methods[run]: value for run, value in last.items()}).unstack()


def test_leads_are_in_the_metric_that_ranks(folder, tmp_path, monkeypatch):
    copy = shutil.copytree(folder, tmp_path / "mine")
    monkeypatch.setattr(subprocess, "run", lambda c, **_: subprocess.CompletedProcess(c, 0))
    where = ("--out", copy, "--results", copy / "results")
    said = words(typed("bench", *CHOSEN, "--metric", "client_spread", *where))
    seeds = compare_seeds(copy, "client_spread")
    for method in ("FedProx", "FedSAM"):
        lead = 100 * (seeds["FedAvg"] - seeds[method]).mean()  # who spreads less is ahead
        assert re.search(rf" {method} {re.escape(f'{lead:+.2f}')} ± \d", said)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_leaderboard_stands_in_the_terminal_too(folder, monkeypatch, width):
    monkeypatch.setattr(subprocess, "run", lambda c, **_: subprocess.CompletedProcess(c, 0))
    monkeypatch.setattr(console, "width", width)
    done = typed("bench", *CHOSEN, "--out", folder, "--results", folder / "results")
    said = words(done)
    assert done.exit_code == 0
    assert "0 runs trained." in said  # all were finished
    table = pd.read_csv(folder / "reports/paper/tables/mine/leaderboard.csv")
    for mean, std in table[["measured_mean", "measured_std"]].to_numpy():
        assert f" {mean:.2f} ± {std:.2f} " in said or mean == float("inf")
    for method in set(table["method"]):
        assert f" {method} " in said
    assert "…" not in said.partition("Leaderboard")[2]
    lines = done.output.partition("Leaderboard\n")[2].partition("The page")[0].splitlines()
    assert len(lines) >= 5  # columns, the word method, and three methods
    assert max(map(len, lines)) <= width
    seeds = compare_seeds(folder)
    for method in ("FedProx", "FedSAM"):
        lead = (seeds[method] - seeds["FedAvg"]).mean()
        assert re.search(rf" {method} {re.escape(f'{100 * lead:+.2f}')} ± \d", said)
    assert said.endswith("reports/paper/mine.html")


def test_compare_gives_the_same_board_in_python(folder, monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda c, **_: subprocess.CompletedProcess(c, 0))
    found = compare(
        ["FedAvg", "FedProx", "FedSAM"], seeds=2, targets=[0.2], rounds=2, lr=0.3,
        model="mlp:hidden=4", out=folder, results=folder / "results",
    )  # fmt: skip
    assert repr(found) == "Comparison(mine, 6 of 6 runs)"
    table = pd.read_csv(found.page.parent / "tables/mine/leaderboard.csv")
    of_accuracy = table[table["metric"] == "accuracy"].set_index("method")
    board = found.leaderboard()
    assert set(board.index) == {"FedAvg", "FedProx", "FedSAM"}
    for method, text in board["Accuracy"].items():
        mean, std = of_accuracy.loc[method, ["measured_mean", "measured_std"]]
        assert text == f"{mean:.2f} ± {std:.2f}"
    frame = found.frame
    assert len(frame) == 6 * 2  # runs and rounds
    last = frame[frame["round"] == 2].groupby("method")["accuracy"].mean()
    assert last["FedSAM"] * 100 == pytest.approx(of_accuracy["measured_mean"]["FedSAM"])
    assert {text.get_text() for text in found.plot().legend.texts} == set(board.index)


def test_compare_says_that_the_workflow_failed(tmp_path, monkeypatch, refuses):
    told = []

    def run(command, env, **_):
        told.append(env[COMMAND])
        return subprocess.CompletedProcess(command, 3)

    monkeypatch.setattr(subprocess, "run", run)
    for folder in ("one", "two"):  # the second comparison of a name does not see the first
        with refuses("the workflow ended with code 3"):
            compare(["FedAvg", "FedProx"], out=tmp_path / folder / "mine", results=tmp_path / "x")
    assert told == ["the same call"] * 2  # and not what started Python
    with refuses("name two or more"):
        compare(["FedAvg"], out=tmp_path / "mine")
    with refuses("no field in RunSpec 'round'; did you mean 'rounds'"):
        compare({"a": [], "b": ["fedprox"]}, round=3, out=tmp_path / "mine")


def test_bad_methods_end_in_a_sentence(tmp_path):
    done = typed("bench", "--methods", "FedAvg,MOOON", "--out", tmp_path / "mine")
    assert done.exit_code == 2
    assert "did you mean 'MOON'?" in words(done)
    assert not (tmp_path / "mine").exists()


def test_show_names_what_is_not_the_default_and_draws_the_curve(folder):
    results = folder / "results"
    run_id = next(path.name for path in (results / "runs").iterdir() if "fedsam-s1" in path.name)
    done = typed("show", "fedsam-s1", "--results", results)
    assert done.exit_code == 0
    said = words(done)
    assert "rounds 2" in said
    assert "status finished after 2 rounds" in said
    assert "accuracy over the rounds" in said
    assert "| 0 0.4 0.8 1.2 1.6 2" in said  # rounds, at every tenth letter
    assert typed("show", results / "runs" / run_id).output == done.output


def test_show_draws_methods_of_a_paper_together(folder, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(folder))
    where = ("--scale", "paper", "--results", folder / "results")
    said = words(typed("show", "mine", "fedavg", "FedSAM", *where))
    frame = read_frame(folder / "results/paper/mine.parquet")
    last = frame[(frame["round"] == 2) & frame["run_id"].str.contains("fedsam")]["accuracy"]
    assert f"FedSAM {last.mean():.4g} ± {last.std():.2g}" in said.replace("IID, ", "")
    assert "FedProx" not in said
    one = typed("show", "mine", "FedSAM", "s1", *where).output
    assert one == typed("show", "fedsam-s1", "--results", folder / "results").output
    ids = (run.name for run in sorted((folder / "results/runs").glob("*-s0-*"))[:2])
    assert "last accuracy" in words(typed("show", *ids, "--results", folder / "results"))
    nine = typed("show", *["fedsam-s1"] * 9, "--results", folder / "results")
    assert (nine.exit_code, "9 runs are named, and 8 curves" in words(nine)) == (2, True)


def test_a_run_that_stopped_early_says_when():
    record = {"status": "finished", "rounds": 37, "resolved": {"rounds": 50}}
    assert how_it_ended(record) == "finished after 37 of 50 rounds, stopped early"
    assert how_it_ended(record | {"status": "diverged"}) == "diverged after 37 of 50 rounds"


def test_show_takes_the_folder_of_a_run_that_is_not_finished(tmp_path):
    folder = tmp_path / "results/runs/abc-1"
    folder.mkdir(parents=True)
    assert words(typed("show", folder)).endswith("abc-1 is waiting")


@dataclass(frozen=True)
class Halved(Part):
    eta: float = 0.5

    def step(self, d, r):
        return self.eta * d


def test_show_describes_parts_that_were_given_as_objects(tmp_path):
    spec = RunSpec(model={"mlp": {"hidden": 4}}, clients=2, rounds=1)
    run(spec, parts=(Halved(),), out=tmp_path / "run", machine=Machine("cpu", 1))
    done = typed("show", tmp_path / "run")
    assert done.exit_code == 0
    assert 'test_bench.Halved", "parameters": {"eta": 0.5}, "code": ' in words(done)


def test_show_says_what_a_search_chose(folder, tmp_path):
    from_run = next((folder / "results/runs").glob("*fedsam-s1*"))
    copy = tmp_path / "results/runs" / from_run.name
    shutil.copytree(from_run, copy)
    record = json.loads((copy / "run.json").read_text())
    record["settings"] |= {"lr": 0.03, "tune": {"grid": {"lr": [0.3, 0.03]}}}
    record["resolved"]["lr"] = 0.3
    (copy / "run.json").write_text(json.dumps(with_checksum(record)))
    said = words(typed("show", copy))
    assert "lr 0.3 (chosen by the search; 0.03 in the file)" in said


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["fedsam"], "'fedsam' is a part of 2 runs' ids"),
        (["nobody"], "no run 'nobody'"),
        (["fedsam-s1", "--column", "acuracy"], "no column 'acuracy'; did you mean 'accuracy'?"),
        (["mine", "FedSAMM", "--scale", "paper"], "of mine 'FedSAMM'; did you mean 'FedSAM'?"),
        (["mine", "--scale", "demo"], "no finished run of mine at scale demo fits"),
    ],
)
def test_show_says_what_it_cannot_find(folder, asked, said, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(folder))
    done = typed("show", *asked, "--results", folder / "results")
    assert done.exit_code == 2
    assert said in words(done)


def test_results_do_not_differ_from_themselves(folder, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(folder))
    one = folder / "results/paper"
    said = words(typed("compare", one, one))
    assert "Cells measured in both: 21. The same in every run: 21. Differ beyond the" in said
    rows = json.loads(typed("compare", one, one, "--json").output)
    assert {row["difference"] for row in rows} == {0.0}
    place = ["table", "dataset", "setting", "method", "metric"]
    assert {tuple(row) for row in rows} == {
        (*place, "one", "other", "difference", "p", "apart", "same")
    }
    board = pd.read_csv(folder / "reports/paper/tables/mine/leaderboard.csv")
    means = board.set_index(["metric", "method"])["measured_mean"]
    for row in rows:
        mean = means[row["metric"], row["method"]]
        assert row["one"] == (pytest.approx(mean) if math.isfinite(mean) else None)


def test_cells_that_differ_are_listed_with_both_means(folder, tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(folder))
    monkeypatch.setattr(console, "width", 600)
    shutil.copytree(folder / "results", tmp_path / "results")
    file = Results(tmp_path / "results").frame("paper", "mine")
    frame = read_frame(file)
    write_frame(frame.assign(accuracy=frame["accuracy"] + 0.5), file)
    lines = typed("compare", folder / "results/paper", tmp_path / "results/paper").output
    rows = [line.split("│")[1:-1] for line in lines.splitlines() if "FedSAM, accuracy " in line]
    table, _, one, other, difference, p = (cell.strip() for cell in rows[0])
    assert (table, difference) == ("mine/leaderboard", "+50.00")
    mean = float(one.partition(" ± ")[0])
    assert float(other.partition(" ± ")[0]) == pytest.approx(mean + 50, abs=0.011)
    assert other.endswith("(2)")
    assert float(p) < 0.05


def test_a_folder_of_a_scale_may_be_a_link(folder, tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(folder))
    here, there, latest = folder / "results/paper", tmp_path / "results/paper", tmp_path / "latest"
    there.parent.mkdir()
    there.symlink_to(shutil.copytree(here, tmp_path / "disk/of 2024"))
    latest.symlink_to(here)
    for one in (there, latest):
        assert "Cells measured in both: 21" in words(typed("compare", here, one))


def test_a_paper_whose_file_is_not_found_is_no_paper_to_compare(folder, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    done = typed("compare", folder / "results/paper", folder / "results/paper")
    assert done.exit_code == 2
    assert "no paper mine is known (looked in" in words(done)


def test_compare_needs_two_folders_of_results(folder, tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(folder))
    done = typed("compare", folder / "results/paper", tmp_path)
    assert done.exit_code == 2
    assert "holds no collected runs of a scale" in words(done)
