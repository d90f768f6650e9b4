"""End to end: from one YAML file to a report, with the commands a user types."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from tests.project import PAPER, jobs, make_project, snakemake

CONFIG = ("--config", "scale=paper")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A project whose tables were reproduced once."""
    folder = make_project(tmp_path_factory.mktemp("project"))
    said = snakemake(folder, "reproduce_all", *CONFIG).stdout
    assert "4 runs, 4 of them in several tables or figures." in said
    assert re.search(r"plan [1-9]\d* s in 1, .*report \d+ s in 1", said)
    return folder


def test_tables_pages_and_figures_are_there(built):
    shown = built / "reports/paper"
    for name in ("index.html", "tiny.html", "tables/tiny/table1.csv", "tables/tiny/table1.tex"):
        assert (shown / name).stat().st_size > 0
    assert "<svg" in (shown / "figures/tiny/fig1.svg").read_text()


def test_runs_shared_by_two_tables_are_trained_once(built):
    # main: 2 methods × 2 seeds; 'again' is FedAvg with seed 0, one of them
    assert len(list((built / "results/runs").glob("*/run.json"))) == 4


def test_the_table_holds_the_mean_over_the_seeds_of_the_last_round(built):
    table = pd.read_csv(built / "reports/paper/tables/tiny/table1.csv")
    row = table[table["method"] == "FedAvg"].iloc[0]
    finals = [
        pd.read_parquet(built / "results/runs" / run_id / "rounds.parquet")["accuracy"].iloc[-1]
        for run_id in row["run_ids"].split(";")
    ]
    assert len(finals) == row["n_seeds"] == 2
    assert row["measured_mean"] == pytest.approx(100 * sum(finals) / 2)
    assert row["printed_mean"] == 90.0


def test_a_second_call_does_nothing(built):
    assert "Nothing to be done" in str(snakemake(built, "reproduce_all", *CONFIG))


def test_another_batch_size_or_code_trains_nothing_again(built):
    done = snakemake(built, "-n", "reproduce_all", *CONFIG, "batch_size=1")
    assert not [name for name in jobs(done) if name.startswith("train")]


def test_a_longer_seed_list_trains_only_the_new_seeds(tmp_path):
    folder = make_project(tmp_path)
    snakemake(folder, "reproduce_tables", *CONFIG)
    before = {f: f.stat().st_mtime_ns for f in (folder / "results/runs").glob("*/run.json")}
    longer = PAPER.replace("seeds: [0, 1]", "seeds: [0, 1, 2]")
    (folder / "workflow/papers/tiny.yaml").write_text(longer)
    snakemake(folder, "reproduce_tables", *CONFIG)
    after = {f: f.stat().st_mtime_ns for f in (folder / "results/runs").glob("*/run.json")}
    assert len(after) == len(before) + 2
    assert {f: after[f] for f in before} == before
    assert pd.read_csv(folder / "reports/paper/tables/tiny/table1.csv")["n_seeds"].tolist() == [
        3,
        3,
    ]


def test_a_failing_run_does_not_take_the_others_with_it(tmp_path):
    folder = make_project(tmp_path)
    snakemake(folder, "results/paper/plan.json", *CONFIG)
    ids = list(json.loads((folder / "results/paper/plan.json").read_text())["runs"])
    damaged = folder / "results/runs" / ids[1]
    damaged.mkdir(parents=True)
    (damaged / "checkpoint.pt").write_bytes(b"half a checkpoint")
    done = snakemake(folder, "reproduce_tables", *CONFIG, check=False)
    assert done.returncode != 0
    assert "damaged checkpoint" in (damaged / "error.txt").read_text()
    complete = {f.parent.name for f in (folder / "results/runs").glob("*/run.json")}
    assert complete == set(ids) - {ids[1]}
    (damaged / "checkpoint.pt").unlink()
    snakemake(folder, "reproduce_tables", *CONFIG)
    assert (damaged / "run.json").exists()
    assert not (damaged / "error.txt").exists()


def test_a_killed_batch_loses_no_finished_run(tmp_path):
    slow = PAPER.replace("rounds: 2", "rounds: 40").replace("seeds: [0, 1]", "seeds: [0, 1, 2, 3]")
    folder = make_project(tmp_path, slow)
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "reproduce_tables", *CONFIG]
    env = {**os.environ, "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=env,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    runs = folder / "results/runs"
    deadline = time.monotonic() + 120
    while not list(runs.glob("*/run.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = {f: f.stat().st_mtime_ns for f in runs.glob("*/run.json")}
    assert before
    snakemake(folder, "--unlock", *CONFIG)
    snakemake(folder, "reproduce_tables", *CONFIG)
    after = {f: f.stat().st_mtime_ns for f in runs.glob("*/run.json")}
    assert len(after) == 8
    assert {f: after[f] for f in before} == before


def test_a_search_chooses_on_held_out_data_and_the_runs_use_its_winner(tmp_path):
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
    snakemake(folder, "reproduce_tables", *CONFIG, "tables=table1")
    winners = [json.loads(f.read_text()) for f in (folder / "results/searches").glob("*.json")]
    assert len(winners) == 2  # FedAvg's, and FedProx's for Both too; shared by both seeds
    assert {w["chosen"]["lr"] for w in winners} == {0.5}
    assert {w["on"] for w in winners} == {"held-out"}
    records = [json.loads(f.read_text()) for f in (folder / "results/runs").glob("*/run.json")]
    final = [r for r in records if "tune" in r["settings"]]
    assert len(records) == 2 * 2 + 6
    assert [r["resolved"]["lr"] for r in final] == [0.5] * 6
    frame = pd.read_parquet(folder / "results/paper/tiny.parquet").drop_duplicates("run_id")
    assert sum(frame["search"].str.endswith("trials of fedprox(mu=0.1)")) == 2


def test_mlflow_holds_every_run_once(built):
    from mlflow.tracking import MlflowClient

    snakemake(built, "--forcerun", "track", "--", "reproduce_all", check=False)
    client = MlflowClient(f"sqlite:///{built / 'results/mlflow.db'}")
    experiment = client.get_experiment_by_name("fedbench-paper")
    found = client.search_runs([experiment.experiment_id])
    assert len(found) == 4
    shared = [
        r for r in found if r.data.tags["fedbench.tables"] == "tiny/fig1, tiny/table1, tiny/table2"
    ]
    assert len(shared) == 1
    assert shared[0].data.params["lr"] == "0.1"
    history = client.get_metric_history(shared[0].info.run_id, "accuracy")
    assert [m.step for m in history] == [1, 2]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("papers=tinny", "no paper 'tinny'; did you mean 'tiny'?"),
        ("devise=cpu", "devise"),
        ("batch_size=0", "batch_size"),
    ],
)
def test_a_typo_in_the_settings_is_refused_before_any_job(built, config, words):
    done = snakemake(built, "-n", *CONFIG, config, check=False)
    assert done.returncode != 0
    assert words in done.stdout + done.stderr


def test_a_typo_in_a_paper_is_refused_before_any_job(tmp_path):
    folder = make_project(tmp_path, PAPER.replace("fedprox:", "fedprx:"))
    done = snakemake(folder, "-n", *CONFIG, check=False)
    assert done.returncode != 0
    assert "tiny.yaml" in done.stdout + done.stderr
    assert "did you mean 'fedprox'?" in done.stdout + done.stderr


def test_a_value_out_of_range_is_refused_before_any_training(tmp_path):
    folder = make_project(tmp_path, PAPER.replace("mu: 0.1", "mu: -1"))
    done = snakemake(folder, "reproduce_tables", *CONFIG, check=False)
    assert "FedProx: mu = -1 is not allowed; it must be a number ≥ 0" in done.stdout + done.stderr
    assert not (folder / "results/runs").exists()


def test_lint_finds_nothing(built):
    done = snakemake(built, "--lint", *CONFIG)
    assert "Congratulations" in done.stdout + done.stderr
