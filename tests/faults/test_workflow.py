"""The same through Snakemake: killed at random moments, called twice at once, its files damaged.

Only where FEDBENCH_FAULTS says how often, in each way: each start of Snakemake takes seconds.
"""

import contextlib
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from itertools import count

import psutil
import pytest

from tests.faults.counts import COUNTS
from tests.project import make_project

MANY = int(os.environ.get("FEDBENCH_FAULTS", "0"))
pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(not MANY, reason="set FEDBENCH_FAULTS to disturb Snakemake so often"),
]
PAPER = """
title: A grid to be disturbed
authors: Nobody
settings: {model: {mlp: {hidden: 32}}, clients: 10, participation: 0.5, rounds: 150, lr: 0.1}
levels:
  method:
    SCAFFOLD: {parts: [scaffold]}
    Searched: {parts: [{fedprox: {mu: 0.1}}], tune: {grid: {lr: [0.1, 0.3]}}}
grids:
  main: {axes: {method: [SCAFFOLD, Searched]}, seeds: [0, 1]}
tables:
  table1: {title: Table I, grid: main, rows: [], columns: [method]}
  table2: {title: Table II, grid: main, where: {method: SCAFFOLD}, rows: [], columns: [method]}
figures:
  fig1: {title: Fig. 1, grid: main}
"""
COMMAND = ["-m", "snakemake", "--cores", "2", "reproduce_all"]
CONFIG = ["--config", "scale=paper"]


def start(folder, *config):
    return subprocess.Popen(
        [sys.executable, *COMMAND, *CONFIG, *config],
        **{"cwd": folder, "start_new_session": True, "text": True},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT},
    )


def tables(folder):
    """The report's tables, byte for byte."""
    files = sorted((folder / "reports/paper/tables").rglob("*.*"))
    COUNTS["files checked"] += len(files)
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def finished(folder):
    """The checksums of the files of finished runs."""
    records = (folder / "results/runs").glob("*/run.json")
    files = [file for record in records for file in record.parent.iterdir() if file.suffix]
    kept = [file for file in files if file.suffix in (".json", ".parquet")]
    COUNTS["files checked"] += len(kept)
    return {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in kept}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A project, done; its tables; how long it took."""
    folder = make_project(tmp_path_factory.mktemp("whole"), PAPER)
    (folder / "workflow/papers/tiny.printed.csv").unlink()
    begun = time.monotonic()
    said = start(folder).communicate()[0]
    assert (folder / "reports/paper/index.html").exists(), said
    return folder, tables(folder), time.monotonic() - begun


@pytest.fixture
def fresh(undisturbed, tmp_path):
    """The project with nothing done."""
    shutil.copytree(undisturbed[0], tmp_path / "p", ignore=_outcomes)
    return tmp_path / "p"


def _outcomes(_, names):
    return {"results", "reports", ".snakemake"} & set(names)


def finish(folder):
    """Give the same command, doing what the messages say, until it ends well."""
    for tries in count():
        process = start(folder)
        said = process.communicate()[0]
        if process.returncode == 0:
            return
        go_on(folder, said, tries)


def go_on(folder, said, tries):
    """Do what a failed command says, unless that did not help many times in a row."""
    if tries == 8 or not follow(folder, said):
        COUNTS["dead ends"] += 1
        pytest.fail(f"no way out: {said}")


def follow(folder, said):
    """Do what the message says; whether it said anything."""
    if "fedbench unlock" in said:
        subprocess.run([sys.executable, "-m", "fedbench", "unlock"], cwd=folder)
        return True
    if "To go on: snakemake" in said or "To train them again: snakemake" in said:
        _delete(folder, said)
        return True
    return _delete(folder, said)


def _delete(folder, said):
    words = " ".join(said.split())
    named = re.findall(r"delete the folder (\S+) to train", words)
    files = re.findall(r"(\S+): [^:]*(?:\([^)]*\))?[^:]*; delete it\b", words)
    files += re.findall(r"'sqlite:///(\S+)' cannot be used.*; delete the file\b", words)
    for name in {*named, *files}:
        place = folder / name
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
    return bool(named or files)


def check(folder, undisturbed, before):
    now = finished(folder)
    changed = [file for file, checksum in before.items() if now.get(file) != checksum]
    COUNTS["runs lost"] += len({file.parent for file in before.keys() - now.keys()})
    COUNTS["bytes that differ"] += sum(f.stat().st_size for f in changed if f.exists())
    assert changed == []
    shown = tables(folder)
    COUNTS["bytes that differ"] += sum(shown.get(k) != v for k, v in undisturbed[1].items())
    assert shown == undisturbed[1]
    assert not list(folder.rglob("*.part"))


def workers(process):
    for each in psutil.Process(process.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended by now
            if "train" in each.cmdline()[:4]:
                yield each


def kill_worker(process):
    for each in workers(process):
        each.kill()
        break


def kill_snakemake(process):
    process.kill()  # its workers live on


def kill_group(process):
    os.killpg(process.pid, signal.SIGKILL)


def stop_snakemake(process):
    process.send_signal(signal.SIGTERM)


def interrupt_group(process):
    os.killpg(process.pid, signal.SIGINT)


@pytest.mark.parametrize(
    "how", [kill_worker, kill_snakemake, kill_group, stop_snakemake, interrupt_group]
)
def test_finished_runs_and_tables_outlive_kills_at_random_moments(undisturbed, fresh, how):
    rng = random.Random(how.__name__)  # noqa: S311
    kills, failed, kept = 0, 0, {}
    while kills < MANY:  # each command goes on from what the one before it left
        process = start(fresh)
        try:
            said = process.communicate(timeout=rng.uniform(3, undisturbed[2]))[0]
        except subprocess.TimeoutExpired:
            how(process)
            kills, failed = kills + 1, 0
            if how is not kill_snakemake:  # its workers hold the pipe
                process.communicate()
            kept = finished(fresh) | kept
            continue
        if process.returncode:
            go_on(fresh, said, failed)
            failed += 1
            continue
        check(fresh, undisturbed, kept)
        failed, kept = 0, {}
        for name in ("results", "reports", ".snakemake"):
            shutil.rmtree(fresh / name)
    COUNTS["kills"] += kills
    finish(fresh)
    check(fresh, undisturbed, kept)


def test_two_invocations_at_once(undisturbed, fresh):
    first, second = start(fresh), start(fresh)
    said = [each.communicate()[0] for each in (first, second)]
    assert sum("Another workflow runs in this folder" in each for each in said) <= 1
    COUNTS["faults"] += 1
    finish(fresh)
    check(fresh, undisturbed, {})


def test_another_selection_without_snakemakes_notes_and_then_all(undisturbed, tmp_path):
    folder = shutil.copytree(undisturbed[0], tmp_path / "p")
    process = start(folder, "tables=table2")
    process.communicate()
    assert process.returncode == 0
    shutil.rmtree(folder / ".snakemake")
    before = finished(folder)
    finish(folder)
    COUNTS["faults"] += 1
    check(folder, undisturbed, before)


def test_a_moved_project_trains_nothing_again(undisturbed, tmp_path):
    folder = tmp_path / "elsewhere"
    shutil.copytree(undisturbed[0], folder, copy_function=shutil.copy)
    before = finished(folder)
    finish(folder)
    COUNTS["faults"] += 1
    check(folder, undisturbed, before)


KINDS = (
    *("runs/*/run.json", "runs/*/rounds.parquet", "runs/*/clients.parquet", "searches/*.json"),
    *("paper/plan-*.json", "paper/tiny.parquet", "data/*.json", "mlflow.db"),
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("flip", [False, True])
def test_a_damaged_file_is_named_and_the_way_out_works(undisturbed, tmp_path, kind, flip):
    folder = shutil.copytree(undisturbed[0], tmp_path / "p")
    rng = random.Random(kind)  # noqa: S311
    file = sorted((folder / "results").glob(kind))[0]
    content = bytearray(file.read_bytes())
    if flip:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    else:
        del content[rng.randrange(len(content)) :]
    file.write_bytes(content)
    COUNTS["faults"] += 1
    before = {k: v for k, v in finished(folder).items() if k.parent != file.parent}
    if kind != "paper/tiny.parquet":
        (folder / "results/paper/tiny.parquet").unlink()  # or nothing would be read again
    finish(folder)
    check(folder, undisturbed, before)
