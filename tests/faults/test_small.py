"""A small grid is killed, damaged and starved; its finished runs and its table stay what they were.

FEDBENCH_FAULTS=50 pytest -m faults tests/faults -n 0: 50 kills and as many faults of each kind, and
the same through Snakemake.
"""

import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import time
from pathlib import Path

import pytest

from fedbench import FedbenchError
from tests.faults.counts import COUNTS
from tests.faults.small import NAME, SCALE, Small, recovered

pytestmark = pytest.mark.faults
MANY = int(os.environ.get("FEDBENCH_FAULTS", "0"))
FORK = multiprocessing.get_context("fork")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The grid in a folder, done; its table; and how long it took."""
    grid = Small(tmp_path_factory.mktemp("undisturbed"))
    start = time.monotonic()
    return grid, grid.go(), time.monotonic() - start


@pytest.fixture
def copy(undisturbed, tmp_path):
    """The finished grid in a folder of its own, to be damaged; it was moved there by `cp -r`."""
    shutil.copytree(undisturbed[0].results.parent, tmp_path / "moved", copy_function=shutil.copy)
    return Small(tmp_path / "moved")


def same(grid, table, before):
    """Whether the table and all files that were finished before are what they were."""
    now = grid.finished()
    COUNTS["runs lost"] += len({file.parent for file in before.keys() - now.keys()})
    changed = [file for file, checksum in before.items() if now.get(file) != checksum]
    COUNTS["bytes that differ"] += sum(file.stat().st_size for file in changed if file.exists())
    assert changed == []
    assert grid.go() == table


def killed_after(grid, seconds, processes=1):
    """Start the grid in processes of its own, and kill them all after so many seconds."""
    started = [FORK.Process(target=grid.go) for _ in range(processes)]
    for process in started:
        process.start()
    time.sleep(seconds)
    for process in started:
        process.kill()
        process.join()
        COUNTS["kills"] += process.exitcode == -signal.SIGKILL


def test_a_grid_that_is_done_keeps_no_checkpoint(undisturbed):
    assert not list(undisturbed[0].results.rglob("checkpoint.pt"))


@pytest.mark.parametrize("processes", [1, 2])
def test_finished_runs_outlive_kills_at_any_moment(undisturbed, tmp_path, processes):
    _, table, seconds = undisturbed
    rng = random.Random(processes)  # noqa: S311
    for kill in range(max(3, MANY)):
        grid = Small(tmp_path / str(kill))
        killed_after(grid, rng.uniform(0, seconds), processes)
        before = grid.finished()
        assert recovered(grid) == table
        same(grid, table, before)
        assert not list(grid.results.rglob("*.part"))
        assert not list(grid.results.rglob("checkpoint.pt"))
        shutil.rmtree(tmp_path / str(kill))


def kinds(grid):
    """One file of each kind below results/."""
    runs = sorted(grid.paths.runs.iterdir())
    searches = sorted(grid.results.glob("searches/*.json"))
    frame = grid.paths.frame(SCALE, NAME)
    files = [
        *(runs[0] / name for name in ("run.json", "rounds.parquet", "clients.parquet")),
        *(*grid.paths.plans(SCALE), searches[0], frame, frame.with_name(f"{frame.name}.sha256")),
    ]
    assert all(file.exists() for file in files)
    return files


def cut(content, rng):
    """The beginning; a file that an earlier cut left empty, since nobody reads it, stays empty."""
    return content[: rng.randrange(max(1, len(content)))]


def flipped(content, rng):
    damaged = bytearray(content)
    damaged[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


@pytest.mark.parametrize("damage", [cut, flipped])
@pytest.mark.parametrize("kind", range(7))
def test_a_damaged_file_is_named_and_the_way_out_works(undisturbed, copy, kind, damage):
    table, file = undisturbed[1], kinds(copy)[kind]
    rng = random.Random(kind)  # noqa: S311
    for _ in range(max(2, MANY)):
        COUNTS["faults"] += 1
        whole = file.read_bytes()
        before = {k: v for k, v in copy.finished().items() if k.parent != file.parent}
        file.write_bytes(damage(whole, rng))
        if not file.name.startswith(f"{NAME}.parquet"):
            copy.paths.frame(SCALE, NAME).unlink()  # to be collected anew, as after training
        assert recovered(copy) == table
        same(copy, table, before)


def killed_at(grid, checkpoint_):
    """Go until so many checkpoints have been written, then die of a kill -9."""
    from fedbench.engine import checkpoint

    left, save = iter(range(checkpoint_)), checkpoint.save_checkpoint

    def save_and_die(*args):
        save(*args)
        next(left, None) is None and os.kill(os.getpid(), signal.SIGKILL)

    checkpoint.save_checkpoint = save_and_die
    grid.go()


def test_a_damaged_checkpoint_is_named_and_the_way_out_works(undisturbed, tmp_path):
    _, table, _ = undisturbed
    rng = random.Random(0)  # noqa: S311
    for kill in range(max(2, MANY)):
        grid = Small(tmp_path / str(kill))
        process = FORK.Process(target=killed_at, args=(grid, rng.randrange(1, 20)))
        process.start()
        process.join()
        COUNTS["kills"] += 1
        (left,) = grid.results.rglob("checkpoint.pt")
        before = grid.finished()
        left.write_bytes(cut(left.read_bytes(), rng))
        COUNTS["faults"] += 1
        assert recovered(grid) == table
        same(grid, table, before)


def starved(grid, size):
    """Go with a limit on the size of files, as a disk that is nearly full has."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as on a full disk, writing fails with an error
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    grid.go()


@pytest.mark.parametrize("size", [0, 300, 3_000, 10_000])
def test_a_full_disk_leaves_nothing_half_written(undisturbed, tmp_path, size):
    _, table, _ = undisturbed
    grid = Small(tmp_path)
    process = FORK.Process(target=starved, args=(grid, size))
    process.start()
    process.join()
    COUNTS["faults"] += 1
    assert process.exitcode == 1  # an error, no crash
    before = grid.finished()
    assert not list(grid.results.rglob("*.part"))
    for file in grid.results.rglob("*.json"):
        json.loads(file.read_text())  # whole, or it would be no JSON
    assert recovered(grid) == table
    same(grid, table, before)


def test_a_folder_that_is_only_read_is_named(undisturbed, copy, monkeypatch):
    """As root, who runs these tests in containers, may write everywhere: a stub refuses."""
    import tempfile

    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    copy.paths.run(next(iter(copy.plan().runs))).path.joinpath("run.json").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "TemporaryFile", refused)
        with pytest.raises(FedbenchError, match=r"runs/\S+: cannot write there: Permission denied"):
            copy.go()
    COUNTS["faults"] += 1
    assert copy.go() == undisturbed[1]


def test_a_plan_of_something_else_is_made_anew(undisturbed, copy):
    (plan,) = copy.paths.plans(SCALE)
    paper = copy.workflow / "papers/tiny.yaml"
    paper.write_text(paper.read_text().replace("seeds: [0, 1]", "seeds: [0]"))
    copy.paths.frame(SCALE, NAME).unlink()
    assert len(copy.go().splitlines()) == 1 + 12 + 4  # a header, and the rounds of two runs
    assert not plan.exists()
    Small(copy.results.parent)  # the paper as before
    copy.paths.frame(SCALE, NAME).unlink()
    assert copy.go() == undisturbed[1]
    assert copy.paths.plans(SCALE) == [plan]
    COUNTS["faults"] += 2


def test_a_moved_results_folder_trains_nothing_again(undisturbed, copy):
    before = copy.finished()
    copy.results = shutil.move(copy.results, copy.results.parent / "elsewhere")
    moved = Small(copy.workflow.parent)
    moved.results, moved.paths = Path(copy.results), type(moved.paths)(Path(copy.results))
    assert moved.go() == undisturbed[1]
    assert sorted(moved.finished().values()) == sorted(before.values())
