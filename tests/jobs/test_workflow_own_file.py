"""A data file of the user's own goes through the whole workflow, and is noticed when it changes."""

import json
import re
import shutil

import pandas as pd

from tests.jobs.conftest import CELLS, CONFIG, DATA, REPORTS, RESULTS
from tests.project import jobs, snakemake

TABLE = f"{REPORTS}/paper/tables/tiny/table3.csv"


def test_its_size_and_checksum_are_recorded_and_its_table_is_there(built):
    facts = {
        file.stem: json.loads(file.read_text()) for file in (built / RESULTS / "data").iterdir()
    }
    (key,) = facts.keys() - {"digits"}  # the name of the data's file follows the parameters
    assert re.fullmatch("file-[0-9a-f]{12}", key)
    assert (facts[key]["train"], facts[key]["test"], facts[key]["classes"]) == (80, 20, 2)
    table = pd.read_csv(built / TABLE)
    assert table["dataset"].tolist() == ["Mine", "Mine"]
    assert table["n_seeds"].tolist() == [1, 1]
    record = json.loads(next((built / RESULTS / "runs").glob("file-*/run.json")).read_text())
    assert record["data"]["checksum"] == facts[key]["checksum"]


def test_a_file_that_was_replaced_is_noticed_before_any_report(built, tmp_path):
    folder = shutil.copytree(built, tmp_path / "o'brien & sons")
    (folder / DATA / "my cells.csv").write_text(CELLS.replace("a", "c"))
    done = snakemake(folder, TABLE, *CONFIG, check=False)
    assert done.returncode != 0
    assert "data set 'file(path=my cells.csv)' has been replaced" in done.stdout + done.stderr
    assert not [name for name in jobs(done) if name.startswith("train")]
