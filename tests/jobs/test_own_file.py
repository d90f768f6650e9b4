"""A data file of the user's own goes through the whole workflow, and is noticed when it changes."""

import json
import re
import shutil

import pandas as pd
import pytest

from tests.jobs.conftest import CONFIG, DATA, REPORTS, RESULTS, WITH_BUBBLES
from tests.project import jobs, snakemake

# The tiny paper, with a table on a file: 2 runs more
WITH_FILE = (
    WITH_BUBBLES.replace(
        "Digits: {dataset: digits}",
        'Digits: {dataset: digits}, Mine: {dataset: {file: {path: "my cells.csv"}}}',
    )
    .replace(
        "grids:",
        "grids:\n  mine: {axes: {dataset: [Mine], method: [FedAvg, FedProx]}, seeds: [0]}",
    )
    .replace("tables:", "tables:\n  table3: {title: Table III, grid: mine, rows: [dataset]}")
)
TABLE = f"{REPORTS}/paper/tables/tiny/table3.csv"
CELLS = "size,round,kind\n" + "".join(f"{i},{i % 3},{'ab'[i % 2]}\n" for i in range(100))


@pytest.fixture(scope="module")
def grown(built, tmp_path_factory):
    """The finished project, grown by that table, without printed numbers, reproduced again."""
    folder = tmp_path_factory.mktemp("grown") / "o'brien & sons"
    shutil.copytree(built, folder)
    (folder / "workflow/papers/tiny.yaml").write_text(WITH_FILE)
    (folder / "workflow/papers/tiny.printed.csv").unlink()  # not every paper prints numbers
    (folder / DATA / "my cells.csv").write_text(CELLS)
    snakemake(folder, TABLE, *CONFIG)
    return folder


def test_its_size_and_checksum_are_recorded_and_its_table_is_there(grown):
    facts = {
        file.stem: json.loads(file.read_text()) for file in (grown / RESULTS / "data").iterdir()
    }
    (key,) = facts.keys() - {"digits"}  # the name of the data's file follows the parameters
    assert re.fullmatch("file-[0-9a-f]{12}", key)
    assert (facts[key]["train"], facts[key]["test"], facts[key]["classes"]) == (80, 20, 2)
    table = pd.read_csv(grown / TABLE)
    assert table["dataset"].tolist() == ["Mine", "Mine"]
    assert table["n_seeds"].tolist() == [1, 1]
    record = json.loads(next((grown / RESULTS / "runs").glob("file-*/run.json")).read_text())
    assert record["data"]["checksum"] == facts[key]["checksum"]


def test_a_paper_without_printed_numbers_says_so(grown):
    page = (grown / REPORTS / "paper/tiny.html").read_text(encoding="utf-8")
    assert "There is no file tiny.printed.csv beside tiny.yaml" in page


def test_a_file_that_was_replaced_is_noticed_before_any_report(grown):
    (grown / DATA / "my cells.csv").write_text(CELLS.replace("a", "c"))
    done = snakemake(grown, TABLE, *CONFIG, check=False)
    assert done.returncode != 0
    assert "data set 'file(path=my cells.csv)' has been replaced" in done.stdout + done.stderr
    assert not [name for name in jobs(done) if name.startswith("train")]
