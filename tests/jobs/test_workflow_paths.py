"""The workflow with folders whose names a shell, a URL and HTML would read as something else."""

import json
import os
import re
import shutil

import pandas as pd
import pytest

from tests.project import PAPER, jobs, make_project, snakemake

RESULTS, REPORTS, DATA = "bob's results & co", "a $(touch hit)#1", "bob's data"
CONFIG = ("--config", "scale=paper", f"results={RESULTS}", f"reports={REPORTS}")
DATA_CONFIG = (*CONFIG, f"data_dir={DATA}")

# The tiny paper, with a table on a file of the user's own: 2 runs
FILE_PAPER = (
    PAPER.replace(
        "Digits: {dataset: digits}",
        'Digits: {dataset: digits}, Mine: {dataset: {file: {path: "my cells.csv"}}}',
    )
    .replace(
        "grids:",
        "grids:\n  mine: {axes: {dataset: [Mine], method: [FedAvg, FedProx]}, seeds: [0]}",
    )
    .replace("tables:", "tables:\n  table3: {title: Table III, grid: mine, rows: [dataset]}")
)
CELLS = "size,round,kind\n" + "".join(f"{i},{i % 3},{'ab'[i % 2]}\n" for i in range(100))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = make_project(tmp_path_factory.mktemp("o'brien & sons"), FILE_PAPER)
    (folder / "workflow/papers/tiny.printed.csv").unlink()  # not every paper prints numbers
    (folder / DATA).mkdir()
    (folder / DATA / "my cells.csv").write_text(CELLS)
    snakemake(folder, "reproduce_all", *DATA_CONFIG)
    return folder


def test_everything_lies_in_the_folders_named(built):
    assert len(list((built / RESULTS / "runs").glob("*/run.json"))) == 6
    assert (built / RESULTS / "mlflow.db").exists()
    table = pd.read_csv(built / REPORTS / "paper/tables/tiny/table1.csv")
    assert table["n_seeds"].tolist() == [2, 2]
    assert not list(built.rglob("hit"))  # the folder's name was never run


def test_a_file_of_ones_own_goes_through_the_whole_workflow(built):
    facts = {
        file.stem: json.loads(file.read_text()) for file in (built / RESULTS / "data").iterdir()
    }
    (key,) = facts.keys() - {"digits"}  # the file's name in the folder follows its parameters
    assert re.fullmatch("file-[0-9a-f]{12}", key)
    assert (facts[key]["train"], facts[key]["test"], facts[key]["classes"]) == (80, 20, 2)
    table = pd.read_csv(built / REPORTS / "paper/tables/tiny/table3.csv")
    assert table["dataset"].tolist() == ["Mine", "Mine"]
    assert table["n_seeds"].tolist() == [1, 1]
    record = json.loads(next((built / RESULTS / "runs").glob("file-*/run.json")).read_text())
    assert record["data"]["checksum"] == facts[key]["checksum"]


def test_a_file_that_was_replaced_is_noticed_before_any_report(built):
    file = built / DATA / "my cells.csv"
    file.write_text(CELLS.replace("a", "c"))
    done = snakemake(built, "reproduce_all", *DATA_CONFIG, check=False)
    assert done.returncode != 0
    assert "data set 'file(path=my cells.csv)' has been replaced" in done.stdout + done.stderr
    assert not [name for name in jobs(done) if name.startswith("train")]
    file.write_text(CELLS)
    snakemake(built, "reproduce_all", *DATA_CONFIG)


def test_a_paper_without_printed_numbers_says_so(built):
    page = (built / REPORTS / "paper/tiny.html").read_text(encoding="utf-8")
    assert "There is no file tiny.printed.csv beside tiny.yaml" in page


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
