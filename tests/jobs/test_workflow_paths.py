"""The workflow with folders whose names a shell, a URL and HTML would read as something else."""

import os
import shutil

import pandas as pd
import pytest

from tests.project import PAPER, make_project, snakemake

RESULTS, REPORTS, DATA = "bob's results & co", "a $(touch hit)#1", "bob's data"
CONFIG = ("--config", "scale=paper", f"results={RESULTS}", f"reports={REPORTS}")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = make_project(tmp_path_factory.mktemp("o'brien & sons"))
    (folder / "workflow/papers/tiny.printed.csv").unlink()  # not every paper prints numbers
    (folder / DATA).mkdir()
    snakemake(folder, "reproduce_all", *CONFIG, f"data_dir={DATA}")
    return folder


def test_everything_lies_in_the_folders_named(built):
    assert len(list((built / RESULTS / "runs").glob("*/run.json"))) == 4
    assert (built / RESULTS / "mlflow.db").exists()
    table = pd.read_csv(built / REPORTS / "paper/tables/tiny/table1.csv")
    assert table["n_seeds"].tolist() == [2, 2]
    assert not list(built.rglob("hit"))  # the folder's name was never run


def test_links_from_the_page_lead_to_the_runs(built):
    page = built / REPORTS / "paper/tiny.html"
    assert 'href="../../bob%27s%20results%20%26%20co/runs/digits-mlp-dr-fedavg-s0' in (
        page.read_text(encoding="utf-8")
    )


@pytest.mark.parametrize(
    "setting", ["device=cpu; touch hit", "results={paper}", "reports=", "data_dir=a{b}"]
)
def test_a_setting_that_no_path_or_device_can_be_is_refused(built, setting):
    done = snakemake(built, "-n", *CONFIG, setting, check=False)
    assert done.returncode != 0
    assert setting.partition("=")[0] in done.stdout + done.stderr
    assert not list(built.rglob("hit"))


def test_one_damaged_frame_of_a_figure_keeps_the_tables(tmp_path):
    paper = PAPER.replace(
        "fig1: {title: Fig. 1, grid: main, where: {alpha: 1}}",
        "fig1: {title: Fig. 1, grid: main, where: {alpha: 1}}\n"
        "  fig2: {title: Fig. 2, grid: main, where: {alpha: 1}, kind: bubbles}",
    )
    folder = make_project(tmp_path, paper)
    snakemake(folder, "results/paper/tiny.parquet", "--config", "scale=paper")
    damaged = sorted((folder / "results/runs").glob("*/clients.parquet"))[0]
    kept = shutil.copy(damaged, tmp_path / "kept")
    damaged.write_bytes(b"half a table")
    done = snakemake(folder, "reproduce_all", "--config", "scale=paper", check=False)
    assert done.returncode != 0
    assert "not shown are tiny/fig2:" in done.stdout + done.stderr
    shown = folder / "reports/paper"
    assert (shown / "tables/tiny/table1.csv").exists()
    assert (shown / "figures/tiny/fig1.svg").exists()
    assert "tiny/fig2 is not shown" in (shown / "tiny.html").read_text()
    os.replace(kept, damaged)
    snakemake(folder, "reproduce_all", "--config", "scale=paper")
    assert (shown / "figures/tiny/fig2.svg").exists()
    assert "is not shown" not in (shown / "tiny.html").read_text()
