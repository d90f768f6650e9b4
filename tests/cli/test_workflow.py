"""A command that starts the workflow waits for its orderly end when it is asked to stop."""

import os
import signal
import subprocess
import sys

import pytest

from tests.jobs.started import wait_for
from tests.project import ROOT

# Stands for Snakemake, which takes a while to stop its jobs and to free the folder
SLOW = """
import signal, sys, time
from pathlib import Path

def stop(number, _):
    time.sleep(1)
    Path("freed").write_text(signal.Signals(number).name)
    sys.exit(1)

for each in (signal.SIGINT, signal.SIGTERM):
    signal.signal(each, stop)
Path("begun").write_text("begun")
time.sleep(60)
"""
COMMAND = "from fedbench.cli.init_export_restore import reproduce; reproduce('1')"


def finding(folder):
    """The environment in which Python finds the modules of the folder."""
    return {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}


@pytest.mark.parametrize(
    ("number", "send"),
    [(signal.SIGINT, os.killpg), (signal.SIGTERM, os.kill)],
    ids=["Ctrl-C reaches both", "kill reaches the command"],
)
def test_a_stop_is_the_workflows_which_frees_the_folder(tmp_path, number, send):
    (tmp_path / "snakemake.py").write_text(SLOW)
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND],
        cwd=tmp_path,
        env=finding(tmp_path),
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    wait_for("begun", tmp_path / "begun")
    send(process.pid, number)
    assert process.wait() == 1
    assert (tmp_path / "freed").read_text() == number.name


def test_the_workflow_is_told_the_command_that_goes_on(tmp_path):
    """Snakemake's own would name a file of settings that is gone when it has ended."""
    told = "import os; open('told', 'w').write(os.environ['FEDBENCH_COMMAND'])"
    (tmp_path / "snakemake.py").write_text(told)
    typed = ["bench", "--out", "my folder"]
    command = [sys.executable, "-c", COMMAND, *typed]
    subprocess.run(command, cwd=tmp_path, env=finding(tmp_path), check=True)
    assert (tmp_path / "told").read_text() == "fedbench bench --out 'my folder'"


def test_a_home_that_cannot_be_written_to_is_no_obstacle(tmp_path):
    told = "import os; open('told', 'w').write(' '.join(map(os.environ.get, {names})))"
    names = ["XDG_CACHE_HOME", "FEDBENCH_DATA"]
    (tmp_path / "snakemake.py").write_text(told.format(names=names))
    env = {k: v for k, v in finding(tmp_path).items() if k not in names} | {"HOME": "/dev/null"}
    subprocess.run([sys.executable, "-c", COMMAND], cwd=tmp_path, env=env, check=True)
    cache, data = (tmp_path / "told").read_text().split()
    assert not cache.startswith("/dev/null")
    assert data == "/dev/null/.cache/fedbench"
