"""What would end a workflow after the training ends it before, in one sentence."""

import os
import time

import pytest

from fedbench.jobs.workflow_start_and_end import require_past
from tests.project import make_project, snakemake


def test_a_file_from_the_future_is_refused_and_one_a_moment_ahead_is_not(refuses, tmp_path):
    file = tmp_path / "mine.csv"
    file.touch()
    for ahead in (-100, 2):
        os.utime(file, (time.time() + ahead,) * 2)
        require_past([file, tmp_path / "missing"])
    os.utime(file, (4_102_488_000,) * 2)  # noon of 1 January 2100 in Greenwich
    with refuses(r"mine\.csv: was changed on 2100-01-0\d at .* in the future; .* with `touch`"):
        require_past([file])


def test_the_workflow_refuses_it_before_any_job(tmp_path):
    folder = make_project(tmp_path)
    later = time.time() + 86_400
    os.utime(folder / "workflow/papers/tiny.yaml", (later, later))
    done = snakemake(folder, "--config", "scale=paper", check=False)
    assert done.returncode == 1
    assert "workflow/papers/tiny.yaml: was changed on" in done.stderr
    assert not (folder / "results").exists()


@pytest.mark.parametrize("setting", ["results", "reports"])
def test_a_file_in_place_of_a_folder_is_refused_before_any_job(tmp_path, setting):
    folder = make_project(tmp_path)
    (folder / "mine").touch()
    done = snakemake(folder, "--config", "scale=paper", f"{setting}=mine", check=False)
    assert done.returncode == 1
    assert "mine: is a file; name a folder" in done.stderr
