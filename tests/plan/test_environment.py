"""The Python of the rules; their conda environment holds wherever Snakemake copies its file to."""

import re
import shutil
import sys

import pytest
import yaml

from fedbench.plan.conda_environment import command, installed_from, write_environment
from tests.project import ROOT

WRITTEN = (ROOT / "environment.yml").read_text()


def pip(text):
    """The lines that pip is given."""
    *_, last = yaml.safe_load(text)["dependencies"]
    return last["pip"]


def test_the_rules_call_this_python_and_that_of_a_conda_environment(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/my venv/bin/python")
    assert command(conda=False) == "'/my venv/bin/python' -P -m fedbench"
    assert command(conda=True) == "python -P -m fedbench"


def test_of_a_checkout_constraints_and_project_are_named_from_the_root(tmp_path):
    write_environment(ROOT / "environment.yml", tmp_path / "environment.yml")
    first, *packages, last = pip((tmp_path / "environment.yml").read_text())
    assert (first, last) == (f"-c {ROOT}/constraints.txt", f"-e {ROOT}")
    assert packages == pip(WRITTEN)[1:-1]


def test_in_site_packages_there_is_no_project_to_install(tmp_path):
    folder = tmp_path / "it's here"  # a path that pip must be given in quotes
    folder.mkdir()
    shutil.copy(ROOT / "environment.yml", folder)
    path = write_environment(folder / "environment.yml", tmp_path / "new/environment.yml")
    first, *_, last = pip((tmp_path / "new/environment.yml").read_text())
    assert path == str(tmp_path / "new/environment.yml")
    assert first == f"-c '{tmp_path}/it'\"'\"'s here/constraints.txt'"
    assert re.match(r"(fl-)?fedbench(==| @ )", last)


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        (None, "fl-fedbench==1.0.0"),
        ('{"url": "file:///a%20b/fedbench.whl", "archive_info": {}}',
         "fl-fedbench @ file:///a%20b/fedbench.whl"),
        ('{"url": "https://host/x.git", "vcs_info": {"vcs": "git", "commit_id": "0f3c"}}',
         "fl-fedbench @ git+https://host/x.git@0f3c"),
    ],
)  # fmt: skip
def test_the_fedbench_that_runs_here_is_installed_again(record, wanted):
    assert installed_from("fl-fedbench", "1.0.0", record) == wanted
