"""Results that travel: packed on one machine, restored on another, nothing trained there."""

import json
import os
import shutil
from dataclasses import replace
from datetime import date

import pandas as pd
import pytest
from typer.testing import CliRunner

from fedbench.__main__ import app
from fedbench.base import registry
from fedbench.jobs.collect import collect
from fedbench.jobs.export import export
from fedbench.jobs.restore import published_files, restore
from fedbench.spec import NUMERICS
from fedbench.spec.numerics import ALWAYS
from fedbench.store import Results, note_failure, signs_of_life
from fedbench.store.outcome import same_numbers
from fedbench.store.packed import as_json, packed
from fedbench.store.published import Kind, Thing, read_published, write_published
from tests.jobs.made_runs import (
    CHECKSUM,
    SEARCHING,
    content,
    facts,
    finish,
    project,
    with_weights,
)
from tests.project import jobs, make_project, snakemake


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A project with four finished runs; tests only look at it."""
    folder = tmp_path_factory.mktemp("made")
    return folder, project(folder)


@pytest.fixture
def results(made, tmp_path):
    """A copy of its results, to be changed."""
    return shutil.copytree(made[0] / "results", tmp_path / "here/results")


@pytest.fixture
def plan(made):
    return made[1]


@pytest.fixture
def file(plan, results, tmp_path):
    """The published file of all four runs."""
    return export(plan, "tiny", results, tmp_path / "out").file


@pytest.fixture
def there(tmp_path):
    """The results folder of the other machine."""
    return tmp_path / "there/results"


def forget(results, run_id):
    shutil.rmtree(Results(results).run(run_id).path)


def test_runs_come_back_byte_by_byte_with_facts_and_stamps(plan, results, file, there):
    done = restore([file], there)
    assert (done.written, done.there) == (4, 0)
    assert content(there) == content(results)
    for run_id in plan.runs:
        folder = Results(there).run(run_id)
        assert folder.finished(run_id)["seconds"] == {"train": 1.5}
        assert folder.history()["accuracy"].iloc[-1] == 0.5 + 0.1 * plan.runs[run_id].seed
        assert folder.table("clients")["label"].tolist() == [7]
        assert Results(there).stamp(run_id).exists()


def test_weights_stay_at_home_and_the_record_does_not_name_them(plan, results, there, tmp_path):
    run_id, spec = next(iter(plan.runs.items()))
    finish(results, spec, **with_weights())
    restore([export(plan, "tiny", results, tmp_path).file], there)
    record = Results(there).run(run_id).finished(run_id)
    assert sorted(record["files"]) == ["clients.parquet", "rounds.parquet"]
    assert not (Results(there).run(run_id).path / "model.safetensors").exists()
    assert restore([tmp_path / "tiny.parquet"], results).there == 4  # with its weights the same run


def test_no_folder_of_a_machine_travels(plan, results, there, tmp_path):
    run_id, spec = next(iter(plan.runs.items()))
    at = "/home/ann/data/digits.npz"
    origin = {"name": "digits", "file": at, "sha256": "1", "checksum": CHECKSUM}
    finish(results, spec, record={"data": origin})
    facts(results, origin=origin)
    file = export(plan, "tiny", results, tmp_path / "out").file
    for files in read_published(file).values():
        assert not any(b"/home" in bytes_ or b"ann" in bytes_ for bytes_ in files.values())
    restore([file], there)
    assert Results(there).run(run_id).finished(run_id)["data"] == origin | {"file": "digits.npz"}
    before = file.read_bytes()
    for other in (results, there):  # neither is another run
        assert restore([file], other).there == 4
        assert export(plan, "tiny", other, tmp_path / "out").file.read_bytes() == before
    assert len(collect(list(plan.runs.values()), there)) == 8


def test_equal_runs_give_equal_bytes_in_whatever_order_they_were_finished(
    plan, results, file, tmp_path
):
    other = tmp_path / "other"
    facts(other)
    for spec in reversed(plan.runs.values()):
        finish(other, spec, 0.5 + 0.1 * spec.seed)
    export(plan, "tiny", other, tmp_path / "again")
    assert (tmp_path / "again/tiny.parquet").read_bytes() == file.read_bytes()


def test_a_second_restore_changes_nothing_not_even_the_time_of_a_stamp(plan, file, there):
    restore([file], there)
    for run_id in plan.runs:
        os.utime(Results(there).stamp(run_id), (1, 1))
    before = {path: path.stat().st_mtime_ns for path in there.rglob("*")}
    done = restore([file], there)
    assert (done.written, done.there) == (0, 4)
    assert {path: path.stat().st_mtime_ns for path in there.rglob("*")} == before


def test_diverged_runs_travel_and_unfinished_ones_are_missing(plan, results, there, tmp_path):
    diverged, failed, *_ = plan.runs.values()
    finish(results, diverged, status="diverged")
    forget(results, failed.id)
    note_failure(Results(results).run(failed.id), ValueError("no"))
    done = export(plan, "tiny", results, tmp_path)
    assert (done.packed, done.planned, done.missing) == (3, 4, (failed.id,))
    restore([done.file], there)
    assert Results(there).run(diverged.id).finished(diverged.id)["status"] == "diverged"
    assert not Results(there).run(failed.id).path.exists()


def test_exporting_less_than_is_published_loses_nothing(plan, results, file):
    published = file.read_bytes()
    for run_id in [*plan.runs][:3]:
        forget(results, run_id)
    done = export(plan, "tiny", results, file.parent)
    assert done.missing == ()
    assert file.read_bytes() == published


def test_runs_of_another_plan_stay_in_the_file(plan, results, file):
    gone, *kept = plan.runs
    smaller = replace(plan, cells=[cell for cell in plan.cells if cell.run_id != gone])
    done = export(smaller, "tiny", results, file.parent)
    assert (done.packed, done.others) == (3, 1)
    assert {thing.name for thing in read_published(file) if thing.kind is Kind.run} == {gone, *kept}


def test_what_is_new_goes_into_a_file_of_its_own(plan, results, there, tmp_path):
    last = [*plan.runs][-1]
    part = shutil.copytree(results, tmp_path / "part")
    forget(part, last)
    first = export(plan, "tiny", part, tmp_path / "out").file
    before = first.read_bytes()
    done = export(plan, "tiny", results, tmp_path / "out")
    assert done.file.name == f"tiny-{date.today()}.parquet"
    assert first.read_bytes() == before
    assert (done.packed, done.missing) == (4, ())
    new = {thing.name for thing in read_published(done.file) if thing.kind is Kind.run}
    assert new == {last}
    assert export(plan, "tiny", results, tmp_path / "out").file == done.file  # nothing is new
    restore(published_files([tmp_path / "out"]), there)
    assert content(there) == content(results)


def test_a_run_trained_twice_is_refused_by_name(plan, results, file, there, refuses):
    spec = next(iter(plan.runs.values()))
    restore([file], there)
    finish(there, spec, accuracy=0.9)
    words = (
        f"run {spec.id} is not the same in .*/runs/{spec.id} and run `fedbench restore`, "
        "or move the published file away and run `fedbench export`"
    )
    with refuses(words):
        export(plan, "tiny", there, file.parent)
    before = content(there)
    with refuses(words):
        restore([file], there)
    assert content(there) == before


def test_a_run_trained_again_with_the_same_numbers_is_no_conflict(plan, results, file):
    spec = next(iter(plan.runs.values()))
    published = file.read_bytes()
    again = {"seconds": {"train": 9.0}, "ended": "2030-01-01T00:00:00+00:00", "processor": "new"}
    finish(results, spec, accuracy=0.5 + 0.1 * spec.seed, record=again)
    assert export(plan, "tiny", results, file.parent).packed == 4
    assert file.read_bytes() == published
    assert restore([file], results).there == 4
    assert Results(results).run(spec.id).record()["seconds"] == {"train": 9.0}


def test_columns_of_a_clock_are_no_numbers_of_a_run():
    def files(seconds, accuracy):
        table = pd.DataFrame({"round": [1], "train_seconds": [seconds], "accuracy": [accuracy]})
        return {"run.json": b"{}", "rounds.parquet": table.to_parquet()}

    assert same_numbers(files(1.0, float("nan")), files(2.0, float("nan")))
    assert not same_numbers(files(1.0, 0.5), files(1.0, 0.6))


def test_files_of_two_machines_become_one_folder(plan, results, there, tmp_path):
    a, b, c, _ = plan.runs
    for name, gone in (("a", (a, b)), ("b", (c,))):
        part = shutil.copytree(results, tmp_path / name / "results")
        for run_id in gone:
            forget(part, run_id)
        export(plan, "tiny", part, tmp_path / "both" / name)
    files = published_files([tmp_path / "both/a", tmp_path / "both/b/tiny.parquet"])
    assert restore(files, there).written == 4  # the last is in both
    assert content(there) == content(results)


def test_files_that_disagree_are_refused_before_anything_is_written(
    plan, results, file, there, tmp_path, refuses
):
    spec = next(iter(plan.runs.values()))
    finish(results, spec, accuracy=0.9)
    other = export(plan, "tiny", results, tmp_path / "other").file
    with refuses(f"run {spec.id} is not the same in {file} and in {other}"):
        restore([file, other], there)
    assert not there.exists()


def test_a_run_of_other_numerics_is_refused(plan, results, file, there, monkeypatch, refuses):
    monkeypatch.setattr("fedbench.jobs.published.NUMERICS", NUMERICS + 1)
    words = f"has numerics {NUMERICS}, and this fedbench has {NUMERICS + 1}"
    with refuses(words):
        restore([file], there)
    with refuses(words):
        export(plan, "tiny", results, file.parent)


def test_runs_of_a_component_that_has_changed_since_are_left_out(plan, file, there, monkeypatch):
    parts = [choice.name for spec in plan.runs.values() for choice in spec.parts]
    changed = [run_id for run_id, spec in plan.runs.items() if spec.parts]
    assert 0 < len(changed) < len(plan.runs)
    for part in parts:
        constants = registry.find("method", part).constants
        monkeypatch.setitem(constants, "numerics", {ALWAYS: NUMERICS + 1})
    done = restore([file], there)
    assert (done.written, done.outdated) == (len(plan.runs) - len(changed), len(changed))
    assert not any(Results(there).run(run_id).path.exists() for run_id in changed)


def test_other_data_are_refused_by_the_name_of_the_data_set(plan, results, file, there, refuses):
    facts(there, checksum="0" * 64)
    with refuses("data set digits is not the same"):
        restore([file], there)
    things = read_published(file)
    write_published({k: v for k, v in things.items() if k.kind is Kind.run}, file)
    with refuses(f"checksum {CHECKSUM[:12]}, but data set digits here has 0000"):
        restore([file], there)
    assert not (there / "runs").exists()


def test_the_same_data_in_another_folder_are_the_same_data(results, file, there):
    facts(there, origin={"file": "elsewhere"})
    restore([file], there)
    assert "elsewhere" in Results(there).data("digits").read_text()


def test_a_winner_that_is_spelled_in_another_way_is_the_same_winner(tmp_path):
    """Earlier versions wrote 10.0 where the settings say 10."""
    plan, results = project(tmp_path, SEARCHING), tmp_path / "results"
    file = export(plan, "tiny", results, tmp_path / "out").file
    winner = Results(results).winner(next(iter(plan.trials)))
    respelled = winner.read_text().replace('"lr": 1,', '"lr": 1.0,').replace("1}", "1.0}")
    assert respelled.startswith('{"chosen": {"lr": 1.0}')
    winner.write_text(respelled)
    assert restore([file], results).there == len(plan.runs)
    assert winner.read_text() == respelled
    export(plan, "tiny", results, file.parent)


def test_what_a_failed_training_left_gives_way(plan, file, there):
    run_id = next(iter(plan.runs))
    folder = Results(there).run(run_id)
    note_failure(folder, ValueError("no"))
    (folder.path / "checkpoint.pt").write_bytes(b"half a run")
    Results(there).stamp(run_id).touch()
    os.utime(Results(there).stamp(run_id), (1, 1))
    restore([file], there)
    left = sorted(path.name for path in folder.path.iterdir())
    assert left == [".done", "clients.parquet", "rounds.parquet", "run.json"]
    assert Results(there).stamp(run_id).stat().st_mtime > 1  # newer than a wish to train again


def test_a_run_that_is_being_trained_is_left_alone(plan, file, there, refuses):
    folder = Results(there).run(next(iter(plan.runs)))
    with signs_of_life(folder), refuses("is being trained; wait until it has ended"):
        restore([file], there)


@pytest.mark.parametrize("writes", [0, 1, 2, 3, 12])
def test_a_kill_leaves_whole_runs_or_none(plan, file, there, monkeypatch, writes):
    from fedbench.jobs import restore as module

    whole, count = module.write_bytes, iter(range(writes))

    def killed(path, bytes_):
        if next(count, None) is None:
            raise KeyboardInterrupt
        whole(path, bytes_)

    monkeypatch.setattr(module, "write_bytes", killed)
    with pytest.raises(KeyboardInterrupt):
        restore([file], there)
    for record in Results(there).records():
        assert Results(there).run(record.parent.name).finished(record.parent.name)
    monkeypatch.undo()
    done = restore([file], there)
    assert done.written + done.there == 4
    assert all(Results(there).stamp(run_id).exists() for run_id in plan.runs)


def changed(file, run_id, **fields):
    """Write the file again, as somebody with bad intentions would, with a run's record changed.

    It loses its own checksum, which would tell of it; records of earlier versions have none.
    """
    things = {thing: dict(files) for thing, files in read_published(file).items()}
    files = things[Thing(Kind.run, run_id)]
    record = json.loads(files["run.json"])
    del record["checksum"]
    record |= fields
    files["run.json"] = json.dumps(record).encode()
    write_published(things, file)


def test_a_packed_record_that_was_edited_is_one_sentence(plan, file, there, refuses):
    things = {thing: dict(files) for thing, files in read_published(file).items()}
    files = things[Thing(Kind.run, next(iter(plan.runs)))]
    files["run.json"] = files["run.json"].replace(b'"device": "cpu"', b'"device": "gpu"')
    write_published(things, file)
    with refuses("run.json: is not the record that the run wrote, by its field 'checksum'"):
        restore([file], there)


def test_a_record_without_a_checksum_of_its_own_is_packed_as_it_is(plan, results):
    """The published runs have none: they must be packed into the same bytes as before."""
    run_id = next(iter(plan.runs))
    place = Results(results).run(run_id).path / "run.json"
    record = json.loads(place.read_text())
    del record["checksum"]
    place.write_bytes(as_json(record))
    assert packed(Results(results).run(run_id), run_id)["run.json"] == as_json(record)


DEEP = json.loads("[" * 600 + "]" * 600)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"id": "other"}, "holds the record of run other"),
        ({"status": "running"}, "its status is running, not one of finished, diverged"),
        ({"settings": {"lr": 0.2}}, "its id does not follow from its settings"),
        ({"settings": [1]}, "settings must be a mapping"),
        ({"settings": {"lr": DEEP}}, "nested too deeply"),
        ({"resolved": {"dataset": {"a": 1, "b": 2}}}, "resolved.dataset: .* must be a name"),
        ({"resolved": {"dataset": {"a": {"b": DEEP}}}}, "resolved.dataset: .*nested too deeply"),
        ({"seconds": "many"}, "seconds = 'many' is not allowed"),
        ({"files": {}}, "no checksum of rounds.parquet"),
        ({"files": {"rounds.parquet": "0"}}, "clients.parquet is in the record or among the files"),
        (
            {"files": {"rounds.parquet": "0", "clients.parquet": "0"}},
            "is not the file that the run",
        ),
        ({"rounds": "two"}, "rounds = 'two' is not allowed"),
    ],
)
def test_a_record_that_contradicts_itself_is_one_sentence(
    plan, file, there, refuses, fields, words
):
    run_id = next(iter(plan.runs))
    changed(file, run_id, **fields)
    with refuses(f"{file}: run {run_id}.*{words}"):
        restore([file], there)
    assert not there.exists()


@pytest.mark.parametrize(
    ("thing", "files", "words"),
    [
        (Thing(Kind.data, "digits"), {"facts.json": b"{}"}, "the field checksum is missing"),
        (Thing(Kind.data, "digits"), {"facts.json": b"\xff"}, "not valid JSON"),
        (Thing(Kind.data, "digits"), {"more.json": b"{}"}, "must have the file facts.json"),
        (Thing(Kind.search, "12ab"), {"winner.json": b"{}"}, "the field chosen is missing"),
        (Thing(Kind.run, "x-12ab"), {"rounds.parquet": b""}, "has no run.json"),
    ],
)
def test_things_that_are_not_whole_are_one_sentence(file, there, refuses, thing, files, words):
    write_published({thing: files}, file)
    with refuses(f"{file}: {thing}: .*{words}"):
        restore([file], there)


def test_after_a_restore_nothing_is_trained_loaded_or_chosen(tmp_path, monkeypatch, cli):
    made, folder = tmp_path / "made", tmp_path / "fresh"
    made.mkdir()
    folder.mkdir()
    plan = project(made, SEARCHING)
    make_project(folder, SEARCHING)
    monkeypatch.chdir(folder)
    for words in (("export", "--scale", "paper", "--results", "../made/results"), ("restore",)):
        done = cli(*words)
        assert done.exit_code == 0, done.output
    assert len(plan.trials) == 2
    assert done.output == "runs restored: 9; there already: 0\n"
    counts = jobs(snakemake(folder, "-n", "reproduce_all", "--config", "scale=paper"))
    assert counts.keys() == {
        "plan",
        "collect",
        "report",
        "track",
        "missing",
        "reproduce_all",
        "total",
    }


CLAIMS = """
claims:
  better: {text: FedProx is better., kind: greater, table: table1, winner: FedProx, loser: FedAvg}
"""


def test_the_report_of_a_part_trains_nothing_and_says_what_was_not_run(tmp_path, write_plan):
    folder = tmp_path / "fresh"
    folder.mkdir()
    plan = project(folder, SEARCHING + CLAIMS)
    results = folder / "results"
    for run_id in [run_id for run_id in plan.runs if "fedprox" in run_id]:
        forget(results, run_id)
    whole = [run_id for run_id in plan.runs if (results / "runs" / run_id).exists()]
    published = export(plan, "tiny", results, folder / "published").file
    shutil.rmtree(results)
    assert restore([published], results).written == len(whole) == 5
    write_plan(folder)
    report = ("reproduce_all", "--config", "scale=paper")
    snakemake(folder, *report, "train=none", "reports=reports/published")
    assert {*jobs(snakemake(folder, "-n", *report))} > {"train_0", "select"}  # what is left
    assert {path.parent.name for path in Results(results).records()} == {*whole}
    claims = pd.read_csv(folder / "reports/published/paper/claims/tiny.csv")
    assert {*claims["measured"]} == {"not tested"}
    page = (folder / "reports/published/paper/tiny.html").read_text()
    assert "2 of its 4 runs are missing" in page
    table = pd.read_csv(folder / "reports/published/paper/tables/tiny/table1.csv")
    assert dict(zip(table["method"], table["n_seeds"], strict=True)) == {"FedAvg": 2, "FedProx": 0}


def test_the_command_says_what_it_packed_and_what_is_missing(made, results, tmp_path, monkeypatch):
    monkeypatch.chdir(made[0])
    first, *_ = made[1].runs
    forget(results, first)
    Results(results).data("digits").unlink()
    out = tmp_path / "out"
    words = ["export", "tiny", "--scale", "paper", "--results", str(results), "--out", str(out)]
    said = CliRunner().invoke(app, words).output
    size = (out / "tiny.parquet").stat().st_size / 1e6
    assert said == (
        f"{out}/tiny.parquet: 3 of 4 planned runs, {size:.2f} MB; missing: {first}; without the "
        "facts of the data sets digits\n"
    )
    words[1:2] = ["--papers", "tiny"]
    assert CliRunner().invoke(app, words).output == said


def test_nothing_published_is_one_sentence(tmp_path, refuses):
    with refuses("has no published results"):
        published_files([tmp_path])
    with refuses("nowhere: there is no such file or folder"):
        published_files([tmp_path / "nowhere"])


def test_frames_read_what_was_restored(plan, file, there):
    restore([file], there)
    frame = collect(list(plan.runs.values()), there)
    assert frame.groupby("round")["accuracy"].mean().round(6).tolist() == [0.25, 0.55]
