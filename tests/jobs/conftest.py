"""One finished project that all tests of the workflow share: a start of Snakemake takes seconds."""

import pytest

from fedbench.jobs.mlflow import client_of
from tests.project import PAPER, make_project, snakemake

# Names that a shell, a URL and HTML would read as something else
RESULTS, REPORTS, DATA = "bob's results & co", "a $(touch hit)#1", "bob's data"
CONFIG = ("--config", "scale=paper", f"results={RESULTS}", f"reports={REPORTS}", f"data_dir={DATA}")

# The tiny paper, with a figure of the clients' samples, and a table on a file of the user's own
WHOLE = (
    PAPER.replace(
        "Digits: {dataset: digits}",
        'Digits: {dataset: digits}, Mine: {dataset: {file: {path: "my cells.csv"}}}',
    )
    .replace(
        "grids:",
        "grids:\n  mine: {axes: {dataset: [Mine], method: [FedAvg, FedProx]}, seeds: [0]}",
    )
    .replace("tables:", "tables:\n  table3: {title: Table III, grid: mine, rows: [dataset]}")
    + "  fig2: {title: Fig. 2, grid: main, where: {alpha: 1}, kind: bubbles}\n"
)
CELLS = "size,round,kind\n" + "".join(f"{i},{i % 3},{'ab'[i % 2]}\n" for i in range(100))


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A project of which everything was reproduced once; tests only look at it."""
    folder = make_project(tmp_path_factory.mktemp("o'brien & sons"), WHOLE)
    (folder / DATA).mkdir()
    (folder / DATA / "my cells.csv").write_text(CELLS)
    done = snakemake(folder, "--cores", "2", "reproduce_all", *CONFIG)
    (folder / "said.txt").write_text(done.stdout)
    return folder


@pytest.fixture(scope="session")
def database(tmp_path_factory):
    """An empty database of MLflow, which takes seconds to make."""
    file = tmp_path_factory.mktemp("empty") / "mlflow.db"
    client_of(f"sqlite:///{file}")
    return file


@pytest.fixture
def write_plan(cli):
    """`write_plan(folder)`: the plan of a project, made here: the workflow's job takes seconds."""

    def write(folder, *words):
        workflow = ("--workflow", folder / "workflow", "--scale", "paper")
        results = ("--results", folder / "results")
        done = cli("plan", *workflow, *results, "--check", "--write", *words)
        assert done.exit_code == 0, done.output

    return write
