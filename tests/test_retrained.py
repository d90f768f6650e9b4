"""A published run that is trained again gives the same bits on the same kind of machine.

On another kind of processor, even one with the same instructions, or with another PyTorch, sums are
rounded in another order and training amplifies the differences: there the first evaluated round
must be close, and the last one roughly.
"""

from pathlib import Path

import pandas as pd
import pytest

from fedbench import RunSpec, run
from fedbench.data.source import data_folder
from fedbench.jobs.export_and_restore import published_run, read_checked
from fedbench.store import RunFolder
from fedbench.store.parquet_frames import in_pandas
from fedbench.store.published import Published, write_published
from tests.project import ROOT

FILES = sorted((ROOT / "results/published").glob("*/runs-*.parquet"))
# How far accuracies may differ on another kind of processor. With AVX2 in place of AVX512 16
# runs of the demonstration had equal ones in the first evaluated round, and up to 0.08 apart in
# the last.
FIRST, LAST = 0.02, 0.15


def records(files):
    """Record and rounds of the published runs, the one that took a CPU the fewest seconds first."""
    published = [run for file in files for run in read_checked(file).runs.values()]
    runs = [(run.record, in_pandas(run.tables["rounds"])) for run in published]
    return sorted(runs, key=lambda pair: (pair[0]["device"] != "cpu", _seconds(pair[0])))


def _seconds(record):
    return sum(record["seconds"].values())


def has_its_data(record):
    """Whether the data come with fedbench, or a file or folder of their name is here."""
    file = record["data"].get("file")
    return file is None or (data_folder() / Path(file).name).exists()


def same_build(record, again):
    """Whether both runs computed with the same PyTorch on the same kind of processor."""
    keys = ("device", "machine", "processor")
    same = all(key in record and record[key] == again[key] for key in keys)
    return same and record["versions"]["torch"] == again["versions"]["torch"]


def scores(history):
    """What the history says but for the time that it took."""
    return history[[name for name in history if not name.endswith("_seconds")]]


def compare(record, rounds, again):
    """Fail unless the run trained again has the history of the published one."""
    published = scores(rounds)
    if same_build(record, again.record):
        pd.testing.assert_frame_equal(scores(again.history), published, check_exact=True)
    else:
        gap = (again.history["accuracy"] - published["accuracy"]).abs()
        assert gap.iloc[0] <= FIRST
        assert gap.iloc[-1] <= LAST


def test_the_cheapest_published_run_gives_the_same_again(cpu):
    candidates = [pair for pair in records(FILES) if has_its_data(pair[0])]
    if not candidates:
        pytest.skip("no published run whose data are here" if FILES else "nothing is published")
    record, rounds = candidates[0]
    again = run(RunSpec(**record["resolved"]), machine=cpu)
    assert again.record["data"]["checksum"] == record["data"]["checksum"]
    compare(record, rounds, again)


TINY = RunSpec(dataset="toy", model={"mlp": {"hidden": 4}}, clients=4, rounds=2)


@pytest.fixture(scope="module")
def published(tmp_path_factory, cpu):
    """A published file with two runs, made here."""
    folder = tmp_path_factory.mktemp("published")
    runs = {}
    for spec in (TINY, TINY.changed(seed=1)):
        run(spec, out=folder / spec.id, machine=cpu)
        runs[spec.id] = published_run(RunFolder(folder / spec.id), spec.id)
    (*_, file) = write_published(Published(runs), folder / "tiny", "2026-11-27", {})
    return file


def test_a_run_trained_again_is_compared_bit_by_bit(published, cpu):
    (record, rounds), *_ = records([published])
    assert has_its_data(record)
    spec = RunSpec(**record["resolved"])
    again = run(spec, machine=cpu)
    assert same_build(record, again.record)
    compare(record, rounds, again)
    again.history.loc[1, "loss"] *= 1 + 1e-15
    with pytest.raises(AssertionError):
        compare(record, rounds, again)


@pytest.mark.parametrize(("moved", "close"), [(0.05, True), (0.2, False)])
def test_elsewhere_the_last_accuracy_may_differ_a_little(published, cpu, moved, close):
    (record, rounds), *_ = records([published])
    again = run(RunSpec(**record["resolved"]), machine=cpu)
    again.history.loc[1, "accuracy"] += moved
    again.record["versions"]["torch"] = "0"
    if close:
        compare(record, rounds, again)
    else:
        with pytest.raises(AssertionError):
            compare(record, rounds, again)


def test_a_run_whose_data_are_not_here_is_no_candidate(monkeypatch, tmp_path):
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path))
    assert has_its_data({"data": {"name": "digits"}})
    mnist = {"data": {"name": "mnist", "file": "/somewhere/mnist.npz"}}
    assert not has_its_data(mnist)
    (tmp_path / "mnist.npz").touch()
    assert has_its_data(mnist)
