"""End to end: from one YAML file to a report, with the commands a user types."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from fedbench.plan.plan import make_plan
from fedbench.plan.plan_file import planned_file, write_plan
from tests import forked
from tests.jobs.conftest import CONFIG, REPORTS, RESULTS
from tests.project import PAPER, jobs, make_project, snakemake

FRAME = "results/paper/tiny.parquet"


def test_the_summary_counts_runs_and_seconds(built):
    said = (built / "said.txt").read_text()
    assert "6 runs, 4 of them in several tables or figures." in said
    took = re.findall(r"(\w+) (\d+) s in (\d)", said)
    counts = {"data": 2, "plan": 1, "train": 3, "collect": 1, "report": 1, "missing": 1, "track": 1}
    assert {rule: int(count) for rule, _, count in took} == counts
    assert sum(int(seconds) for _, seconds, _ in took) > 0
    assert f"The report: {REPORTS}/paper/index.html" in said


def test_tables_pages_and_figures_are_there(built):
    shown = built / REPORTS / "paper"
    for name in ("index.html", "tiny.html", "tables/tiny/table1.csv", "tables/tiny/table1.tex"):
        assert (shown / name).stat().st_size > 0
    assert "<svg" in (shown / "figures/tiny/fig1.svg").read_text()


def test_everything_lies_in_the_folders_named_and_no_name_was_run_as_a_command(built):
    assert (built / RESULTS / "mlflow.db").exists()
    assert not (built / "results").exists()
    assert not (built / "reports").exists()
    assert not list(built.rglob("hit"))


def test_links_from_the_page_lead_to_the_runs(built):
    page, run = (
        (built / REPORTS / "paper" / name).read_text(encoding="utf-8")
        for name in ("tiny.html", "run.html")
    )
    assert 'href="run.html#digits-mlp-dr-fedavg-s0' in page
    assert 'href="../../bob%27s%20results%20%26%20co/runs/"' in run


def test_the_rules_call_the_python_of_snakemake_and_show_no_password(tmp_path):
    place = "http://me:my-secret@host"
    places = (f"tracking_uri={place}", f"live=mlflow={place}")
    done = snakemake(make_project(tmp_path), "-n", "-p", *CONFIG[:2], *places)
    text = re.sub("Command: .*", "what was typed", done.stdout + done.stderr)  # by Snakemake
    assert "my-secret" not in text
    said = re.findall(r"(\S+) -P -m fedbench (\w+)", text)
    assert {rule for _, rule in said} >= {"plan", "data", "train", "collect", "report", "track"}
    assert {python for python, _ in said} == {str(forked.python())}


def test_runs_shared_by_two_tables_are_trained_once(built):
    # main: 2 methods × 2 seeds; 'again' is FedAvg with seed 0, one of them; mine: 2 methods
    assert len(list((built / RESULTS / "runs").glob("*/run.json"))) == 4 + 2


def test_the_table_holds_the_mean_over_the_seeds_of_the_last_round(built):
    table = pd.read_csv(built / REPORTS / "paper/tables/tiny/table1.csv")
    row = table[table["method"] == "FedAvg"].iloc[0]
    finals = [
        pd.read_parquet(built / RESULTS / "runs" / run_id / "rounds.parquet")["accuracy"].iloc[-1]
        for run_id in row["run_ids"].split(";")
    ]
    assert len(finals) == row["n_seeds"] == 2
    assert row["measured_mean"] == pytest.approx(100 * sum(finals) / 2)
    assert row["printed_mean"] == 90.0


def test_a_second_call_does_nothing_with_fewer_cores_and_smaller_jobs_too(built):
    done = snakemake(built, "reproduce_all", *CONFIG, "runs_per_job=1")
    assert "Nothing to be done" in str(done)


def test_a_dry_run_of_another_table_plans_it_anew_and_leaves_no_trace(built, tmp_path):
    folder = shutil.copytree(built, tmp_path / "moved")
    shutil.rmtree(folder / ".snakemake")  # without Snakemake's notes
    before = written(folder)
    other = snakemake(folder, "-n", "reproduce_all", *CONFIG, "tables=tiny/table2")
    assert {"plan", "collect", "report"} <= jobs(other).keys()
    assert jobs(snakemake(folder, "-n", "reproduce_all", *CONFIG)) == {}
    assert written(folder) == before
    # Snakemake deletes the frame of a paper whose runs could not be collected
    (folder / RESULTS / "paper/tiny.parquet").unlink()
    assert {"collect", "report"} <= set(jobs(snakemake(folder, "-n", "reproduce_all", *CONFIG)))


def written(folder):
    """When each file and folder was written, but for what Snakemake keeps for itself."""
    files = (file for file in folder.rglob("*") if ".snakemake" not in file.parts)
    return {file: file.stat().st_mtime_ns for file in files}


def test_a_plan_that_another_workflow_left_in_place_of_ours_is_made_again(built, tmp_path):
    folder = shutil.copytree(built, tmp_path / "copy")
    write_plan(make_plan(folder / "workflow", "paper", tables=("table2",)), folder / RESULTS)
    again = jobs(snakemake(folder, "-n", "reproduce_all", *CONFIG))
    assert {"plan", "collect", "report"} <= again.keys()
    assert not [name for name in again if name.startswith("train")]


def test_the_list_of_the_report_has_all_its_files(built):
    shown = built / REPORTS / "paper"
    there = {file.relative_to(shown).as_posix() for file in shown.rglob("*") if file.is_file()}
    listed = set((shown / "files.txt").read_text().splitlines())
    assert there == listed | {"files.txt"}


def test_jobs_fill_the_cores_of_one_machine(built):
    # 4 runs on digits, one job for each of the two cores; and a job for those on the other data
    assert len(list((built / RESULTS / "paper/logs").glob("train-*.log"))) == 2 + 1


@pytest.mark.parametrize(
    "cluster",
    [
        ("--jobs", "9"),  # however many nodes there are
        ("--mode", "remote"),  # on a node the jobs are those of the machine that sent it
    ],
)
def test_on_a_cluster_the_size_of_a_job_decides_and_processes_may_share_a_gpu(tmp_path, cluster):
    make_project(tmp_path)
    config = ("--config", "scale=paper", "gpus=0.25", "live=mlflow")
    done = snakemake(tmp_path, "-n", "-p", "--cores", "2", *cluster, "reproduce_all", *config)
    assert sum(name.startswith("train") for name in jobs(done)) == 1
    assert "gpu=1, gpu_percent=25" in str(done)
    assert "--device=auto --workers=1" in str(done)


def test_a_job_of_a_cluster_has_the_plan_that_it_was_sent_with(built, tmp_path, monkeypatch):
    folder = shutil.copytree(built, tmp_path / "copy")
    sent = planned_file(folder / RESULTS, "paper")
    paper = folder / "workflow/papers/tiny.yaml"
    paper.write_text(paper.read_text().replace("title: ", "title: Another ", 1))
    asked = ("-n", "--mode", "remote", str(sent.relative_to(folder)), *CONFIG)
    assert snakemake(folder, *asked, check=False).returncode  # no plan has that name any more
    monkeypatch.setenv("FEDBENCH_PLAN", str(sent))
    snakemake(folder, *asked)


def test_mlflow_holds_every_run_once(built, cli, monkeypatch):
    from mlflow.tracking import MlflowClient

    monkeypatch.chdir(built)
    assert cli("track", "--scale", "paper", "--results", RESULTS).exit_code == 0  # a second time
    client = MlflowClient(f"sqlite:///{built / RESULTS / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("fedbench-paper-tiny")
    found = client.search_runs([experiment.experiment_id])
    assert len(found) == 4 + 2
    everywhere = "tiny/fig1, tiny/fig2, tiny/table1, tiny/table2"
    shared = [r for r in found if r.data.tags["fedbench.tables"] == everywhere]
    assert len(shared) == 1
    assert shared[0].data.params["lr"] == "0.1"
    history = client.get_metric_history(shared[0].info.run_id, "accuracy")
    assert [m.step for m in history] == [1, 2]


def test_a_search_chooses_on_held_out_data_and_the_runs_use_its_winner(tmp_path, write_plan):
    tune = "grid: {lr: [0.0001, 0.5]}, by: mean"
    shared = f"tune: {{{tune}, trials: {{parts: [{{fedprox: {{mu: 0.1}}}}]}}}}"
    tuned = PAPER.replace(
        "seeds: [0, 1]",
        f"seeds: [0, 1]\n    settings: {{tune: {{{tune}}}}}"
        f"\n    cases: [{{where: {{method: Both}}, settings: {{{shared}}}}}]",
    )
    tuned = tuned.replace("  alpha:", "    Both: {parts: [asd, {fedprox: {mu: 0.1}}]}\n  alpha:")
    tuned = tuned.replace("method: [FedAvg, FedProx]}", "method: [FedAvg, FedProx, Both]}")
    tuned = tuned.replace("hidden: 4}", "hidden: 16}").replace("rounds: 2", "rounds: 8")
    folder = make_project(tmp_path, tuned)
    (folder / "workflow/papers/tiny.printed.csv").unlink()  # not every paper prints numbers
    write_plan(folder, "--tables", "table1")
    snakemake(folder, FRAME, "--config", "scale=paper", "tables=table1")
    frame = pd.read_parquet(folder / FRAME).drop_duplicates("run_id")
    assert frame.groupby("parts")["seed"].nunique().tolist() == [2, 2, 2]
    winners = [json.loads(f.read_text()) for f in (folder / "results/searches").glob("*.json")]
    assert len(winners) == 2  # FedAvg's, and FedProx's for Both too; shared by both seeds
    assert {w["chosen"]["lr"] for w in winners} == {0.5}
    assert {w["on"] for w in winners} == {"held-out"}
    records = [json.loads(f.read_text()) for f in (folder / "results/runs").glob("*/run.json")]
    final = [r for r in records if "tune" in r["settings"]]
    assert len(records) == 2 * 2 + 6
    assert [r["resolved"]["lr"] for r in final] == [0.5] * 6
    assert sum(frame["search"].str.endswith("trials of fedprox(mu=0.1)")) == 2
    assert chosen_again(folder) == winners


def chosen_again(folder):
    """What the searches choose when `fedbench select` is started as users start it."""
    plan = ["--plan", next(folder.glob("results/paper/plan-*.json"))]
    files = list((folder / "results/searches").glob("*.json"))
    for file in files:
        file.unlink()
        command = [sys.executable, "-m", "fedbench", "select", file.stem, *plan]
        subprocess.run(command, cwd=folder, check=True)
    return [json.loads(file.read_text()) for file in files]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("papers=tinny", "no paper 'tinny'; did you mean 'tiny'?"),
        ("paper=tiny", "--config: no field in Settings 'paper'; did you mean 'papers'?"),
        ("device=cpu; touch hit", "device: 'cpu; touch hit' is not allowed; it must be auto, cpu"),
    ],
)
def test_a_mistake_in_the_settings_is_refused_before_any_job(built, config, words):
    done = snakemake(built, "-n", *CONFIG, config, check=False)
    assert done.returncode != 0
    assert words in done.stdout + done.stderr
    assert not list(built.rglob("hit"))


def test_a_value_out_of_range_is_refused_before_any_training(tmp_path):
    folder = make_project(tmp_path, PAPER.replace("mu: 0.1", "mu: -1"))
    done = snakemake(folder, "reproduce_tables", "--config", "scale=paper", check=False)
    assert (
        "method 'fedprox': mu = -1 is not allowed; it must be a number ≥ 0"
        in done.stdout + done.stderr
    )
    assert not Path(folder / "results/runs").exists()
