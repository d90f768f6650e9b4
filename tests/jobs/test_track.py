"""What stands where MLflow's database would is refused at once."""

import pytest

from fedbench.jobs.track import mirror
from fedbench.plan.plan import make_plan
from tests.report.test_hostile_names import project


@pytest.mark.parametrize("kind", ["folder", "text"])
def test_no_database_is_refused_in_a_sentence(refuses, tmp_path, kind):
    plan = make_plan(project(tmp_path), "paper")
    file = tmp_path / "results/mlflow.db"
    file.parent.mkdir()
    if kind == "folder":
        file.mkdir()
    else:
        file.write_text("no database")
    words = {"folder": "a folder stands where MLflow's database would", "text": "no database of"}
    with refuses(rf"mlflow\.db: {words[kind]}"):
        mirror(plan, tmp_path / "results")


def test_results_that_cannot_be_written(refuses, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with refuses("cannot write there"):
        mirror(make_plan(project(tmp_path), "paper"), tmp_path / "file")
