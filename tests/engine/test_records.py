"""What a run left is what is read: damage, edits, other runs and other data are noticed."""

import functools
import json
import shutil

import numpy as np
import pandas as pd
import pytest

from fedbench import FedbenchError, Machine, RunSpec, run
from fedbench.jobs.collect import collect
from fedbench.jobs.train import train
from fedbench.report.values.collected_frames import Collected
from fedbench.store import RunFolder, Status, read_frame, state, write_frame
from fedbench.store.run import with_checksum

CPU = Machine(device="cpu", workers=1)
SPEC = RunSpec(clients=2, rounds=4, batch=None, model={"mlp": {"hidden": 4}})
OTHER = SPEC.changed(seed=1)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A results folder with two finished runs."""
    results = tmp_path_factory.mktemp("results")
    for spec in (SPEC, OTHER):
        run(spec, out=results / "runs" / spec.id, machine=CPU)
    return results


@pytest.fixture
def results(trained, tmp_path):
    """A copy that may be damaged."""
    return shutil.copytree(trained, tmp_path / "results")


def folder(results, spec=SPEC):
    return results / "runs" / spec.id


def work(results, *specs):
    """What the worker says of each run that is there."""
    said = []
    runs = {spec.id: spec for spec in specs or (SPEC,)}
    failed = train(runs, list(runs), results, CPU, None, said.append)
    return failed, said


def refused(call, *fragments):
    with pytest.raises(FedbenchError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    for fragment in fragments:
        assert str(fragment) in message


def changed_rows(results, change):
    """Rewrite rounds.parquet with another frame."""
    file = folder(results) / "rounds.parquet"
    change(pd.read_parquet(file)).to_parquet(file, index=False)
    return file


def test_what_was_written_is_read(results):
    frame = collect([SPEC, OTHER], results)
    assert frame["run_id"].unique().tolist() == [SPEC.id, OTHER.id]
    assert work(results) == ([], [f"[1/1] {SPEC.id}: finished before"])


def test_an_edited_accuracy_is_noticed(results):
    file = changed_rows(results, lambda rows: rows.assign(accuracy=0.99))
    wanted = (file, "not the file that the run wrote", f"delete the folder {folder(results)}")
    refused(lambda: RunFolder(folder(results)).history(), *wanted)
    refused(lambda: collect([OTHER, SPEC], results), *wanted)
    failed, (said,) = work(results)
    assert failed == [SPEC.id]
    assert all(str(word) in said for word in wanted)


def test_rows_that_were_removed_are_noticed(results):
    file = changed_rows(results, lambda rows: rows[:2])
    refused(lambda: collect([SPEC], results), file, "not the file that the run wrote")


@pytest.mark.parametrize(
    "change",
    [
        {"status": "diverged"},
        {"status": "broken"},  # or it would count as not trained yet
        {"files": {}},
        {"seconds": {"train": 0.1}},
        {"note": "mine"},
    ],
)
def test_an_edited_record_is_noticed(results, change):
    file = folder(results) / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    wanted = (file, "not the record that the run wrote", f"delete the folder {folder(results)}")
    refused(lambda: collect([OTHER, SPEC], results), *wanted)
    failed, (said,) = work(results)
    assert failed == [SPEC.id]
    assert all(str(word) in said for word in wanted)


def test_what_is_shown_of_an_edited_record_is_that_it_was_edited(results):
    file = folder(results) / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"seconds": {"train": 9e9}}))
    wanted = (file, "not the record that the run wrote")
    refused(RunFolder(folder(results)).record, *wanted)
    seen = state(RunFolder(folder(results)))
    assert seen.status is Status.failed
    assert all(str(word) in seen.why for word in wanted)


def test_a_record_without_a_checksum_of_its_own_still_names_its_files(results):
    file = folder(results) / "run.json"
    record = json.loads(file.read_text())
    del record["checksum"]  # as published runs were recorded
    file.write_text(json.dumps(record))
    assert len(collect([SPEC], results)) == 4
    file.write_text(json.dumps(record | {"files": {}}))
    refused(lambda: collect([SPEC], results), file, "files has no checksum of rounds.parquet")


def test_other_settings_than_the_runs_own_are_noticed_by_name(results):
    file = folder(results) / "run.json"
    record = json.loads(file.read_text())
    record["resolved"]["lr"] = 0.5
    file.write_text(json.dumps(with_checksum(record)))
    refused(lambda: collect([SPEC], results), file, "resolved: lr is not what the settings")


def without_checksums(results):
    """As runs of earlier versions were recorded."""
    file = folder(results) / "run.json"
    record = json.loads(file.read_text())
    del record["files"], record["checksum"]
    file.write_text(json.dumps(record))


def test_a_run_of_before_there_were_checksums_is_read_and_its_last_round_compared(results):
    without_checksums(results)
    assert len(collect([SPEC, OTHER], results)) == 8
    assert work(results)[0] == []
    file = changed_rows(results, lambda rows: rows[:2])
    refused(
        lambda: collect([SPEC], results),
        *(file, "ends at round 2, but run.json says 4", f"delete the folder {folder(results)}"),
    )


def test_a_copy_of_another_run_is_noticed(results):
    shutil.rmtree(folder(results))
    shutil.copytree(folder(results, OTHER), folder(results))
    wanted = (folder(results) / "run.json", f"record of run {OTHER.id}", f"not of {SPEC.id}")
    refused(lambda: collect([SPEC], results), *wanted)
    failed, (said,) = work(results)
    assert failed == [SPEC.id]
    assert all(str(word) in said for word in wanted)


def test_no_flipped_bit_is_read_as_another_number(results):
    file = folder(results) / "rounds.parquet"
    whole, rng = file.read_bytes(), np.random.default_rng(0)
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << int(rng.integers(8))
        file.write_bytes(damaged)
        refused(lambda: RunFolder(folder(results)).history(), file, "delete the folder")


def test_a_file_that_is_gone_is_noticed(results):
    (folder(results) / "clients.parquet").unlink()
    refused(lambda: collect([SPEC], results), "clients.parquet", "cannot be read", "delete the")
    shown = Collected(pd.DataFrame(), results / "runs")
    refused(lambda: shown.table(SPEC.id, "clients"), "clients.parquet", "cannot be read")
    assert shown.table(SPEC.id, "steps").empty  # the run wrote none


def test_a_figures_table_that_was_changed_is_noticed(results):
    file = folder(results) / "clients.parquet"
    pd.read_parquet(file).assign(count=1).to_parquet(file, index=False)
    shown = Collected(pd.DataFrame(), results / "runs")
    refused(lambda: shown.table(SPEC.id, "clients"), file, "not the file that the run wrote")
    # another run's whole folder is sound in itself, but it is not this run's
    shutil.rmtree(folder(results))
    shutil.copytree(folder(results, OTHER), folder(results))
    wanted = (folder(results) / "run.json", f"record of run {OTHER.id}", f"not of {SPEC.id}")
    for table in ("clients", "holdings"):
        refused(functools.partial(shown.table, SPEC.id, table), *wanted)


def test_an_edited_frame_is_noticed(tmp_path):
    file = tmp_path / "paper.parquet"
    frame = pd.DataFrame({"run_id": ["a"], "accuracy": [0.5]})
    write_frame(frame, file)
    assert read_frame(file).equals(frame)
    frame.assign(accuracy=0.9).to_parquet(file, index=False)
    refused(lambda: read_frame(file), file, "not the file that was written", "delete it to collect")
    file.with_name("paper.parquet.sha256").unlink()  # as earlier versions left it
    assert read_frame(file)["accuracy"].tolist() == [0.9]


# --- the data's version ---------------------------------------------------------------------------

OWN = SPEC.changed(dataset={"file": {"path": "mine.npz"}})


def write_data(folder, seed):
    rng = np.random.default_rng(seed)
    np.savez(folder / "mine.npz", x=rng.normal(size=(40, 3)), y=np.arange(40) % 2)


def train_own(results, data, seed):
    spec = OWN.changed(seed=seed)
    return spec, run(spec, out=folder(results, spec), data_dir=data, machine=CPU)


def test_seeds_trained_before_and_after_the_data_were_replaced_are_not_averaged(tmp_path):
    write_data(tmp_path, 0)
    (first, before), (second, _) = (train_own(tmp_path, tmp_path, seed) for seed in (0, 1))
    assert len(collect([first, second], tmp_path)) == 8
    write_data(tmp_path, 1)
    third, after = train_own(tmp_path, tmp_path, 2)
    versions = [r.record["data"]["checksum"][:12] for r in (before, after)]
    wanted = ("data set 'file(path=mine.npz)'", *versions, first.id, second.id, third.id, "delete")
    refused(lambda: collect([first, second, third], tmp_path), *wanted)
    # other data sets of the same paper are other data
    other = SPEC.changed(seed=7)
    run(other, out=folder(tmp_path, other), machine=CPU)
    assert len(collect([first, second, other], tmp_path)) == 12


def killed_after_two_rounds(spec, **where):
    """Leave a checkpoint of the second round, as a run that was killed does."""

    class Killed(Exception):  # noqa: N818  # it is no error
        pass

    def kill(row):
        if row["round"] == 3:
            raise Killed

    often = Machine(device="cpu", checkpoint_minutes=1e-9)
    with pytest.raises(Killed):
        run(spec, machine=often, watch=kill, **where)


def test_a_run_is_not_resumed_on_other_data(tmp_path):
    write_data(tmp_path, 0)
    own = functools.partial(run, OWN, out=tmp_path / "run", data_dir=tmp_path, machine=CPU)
    killed_after_two_rounds(OWN, out=tmp_path / "run", data_dir=tmp_path)
    write_data(tmp_path, 1)
    refused(
        own,
        *(tmp_path / "run" / "checkpoint.pt", "data set 'file'", "restore the former data"),
        f"delete the folder {tmp_path / 'run'}",
    )
    write_data(tmp_path, 0)
    assert own().record["rounds"] == 4


# --- what is shown of a run -----------------------------------------------------------------------


def test_the_settings_shown_are_those_that_the_run_had(tmp_path):
    """The rate that a search chose, not the planned one."""
    planned = SPEC.changed(tune={"grid": {"lr": [0.3, 0.5]}})
    chosen = planned.changed(tune=None, lr=0.5)
    run(chosen, out=folder(tmp_path, planned), machine=CPU, searched=planned)
    frame = collect([planned], tmp_path)
    assert frame["lr"].unique().tolist() == [0.5]
    assert frame["tuned"].unique().tolist() == ['{"lr": 0.5}']
    assert frame["run_id"].unique().tolist() == [planned.id]
