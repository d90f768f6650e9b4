"""Results that travel: published on one machine, restored on another, nothing trained there."""

import json
import os
import shutil
from dataclasses import replace
from datetime import date

import pandas as pd
import pytest
from typer.testing import CliRunner

from fedbench.__main__ import app
from fedbench.base import files, registry
from fedbench.base.errors import FedbenchError
from fedbench.base.files import read_json, write_json
from fedbench.jobs.collect import collect
from fedbench.jobs.export_and_restore import export, exports_in, require_sound, restore, roles
from fedbench.plan.search import is_as_chosen, signed
from fedbench.spec import NUMERICS
from fedbench.spec.numerics_versions import ALWAYS
from fedbench.store import Results, note_failure, signs_of_life
from fedbench.store.published import (
    Published,
    PublishedRun,
    read_published,
    write_published,
)
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
    return runs_of(export(plan, "tiny", results, tmp_path / "out"))


def runs_of(done):
    """The table of runs that an export wrote, and by which it is read."""
    (*_, file) = done.files
    return file


def again(file, **changes):
    """Write what the file holds with changes as another export; returns its table of runs."""
    changed = replace(read_published(file), **changes)
    return write_published(changed, file.parent / "changed", "2026-01-01", {})[-1]


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
    file = runs_of(export(plan, "tiny", results, tmp_path))
    restore([file], there)
    record = Results(there).run(run_id).finished(run_id)
    assert sorted(record["files"]) == ["clients.parquet", "rounds.parquet"]
    assert not (Results(there).run(run_id).path / "model.safetensors").exists()
    assert restore([file], results).there == 4  # with its weights the same run


def test_no_folder_of_a_machine_travels(plan, results, there, tmp_path):
    run_id, spec = next(iter(plan.runs.items()))
    at = "/home/ann/data/digits.npz"
    origin = {"name": "digits", "file": at, "sha256": "1", "checksum": CHECKSUM}
    finish(results, spec, record={"data": origin})
    facts(results, origin=origin)
    file = runs_of(export(plan, "tiny", results, tmp_path / "out"))
    told = read_published(file)
    texts = [json.dumps([told.data, told.searches, *(run.record for run in told.runs.values())])]
    assert not any(word in text for word in ("/home", "ann") for text in texts)
    restore([file], there)
    assert Results(there).run(run_id).finished(run_id)["data"] == origin | {"file": "digits.npz"}
    for other in (results, there):  # neither is another run
        assert restore([file], other).there == 4
        assert export(plan, "tiny", other, tmp_path / "out").files == ()
    assert len(collect(list(plan.runs.values()), there)) == 8


def test_equal_runs_give_equal_bytes_in_whatever_order_they_were_finished(
    plan, results, file, tmp_path
):
    other = tmp_path / "other"
    facts(other)
    for spec in reversed(plan.runs.values()):
        finish(other, spec, 0.5 + 0.1 * spec.seed)
    same = runs_of(export(plan, "tiny", other, tmp_path / "again"))
    assert same.name == file.name
    assert {each.name: each.read_bytes() for each in same.parent.iterdir()} == {
        each.name: each.read_bytes() for each in file.parent.iterdir()
    }


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
    assert (done.held, done.planned, done.missing) == (3, 4, (failed.id,))
    restore([runs_of(done)], there)
    assert Results(there).run(diverged.id).finished(diverged.id)["status"] == "diverged"
    assert not Results(there).run(failed.id).path.exists()


def test_exporting_less_than_is_published_writes_nothing(plan, results, file):
    for run_id in [*plan.runs][:3]:
        forget(results, run_id)
    before = content(file.parent)
    done = export(plan, "tiny", results, file.parent.parent)
    assert (done.files, done.new, done.missing) == ((), 0, ())
    assert content(file.parent) == before


def test_runs_of_another_plan_are_counted_apart(plan, results, file):
    gone, *_ = plan.runs
    smaller = replace(plan, cells=[cell for cell in plan.cells if cell.run_id != gone])
    done = export(smaller, "tiny", results, file.parent.parent)
    assert (done.held, done.others) == (3, 1)


def test_what_is_new_goes_into_files_of_its_own(plan, results, there, tmp_path):
    last = [*plan.runs][-1]
    part = shutil.copytree(results, tmp_path / "part")
    forget(part, last)
    first = runs_of(export(plan, "tiny", part, tmp_path / "out"))
    before = content(first.parent)
    done = export(plan, "tiny", results, tmp_path / "out")
    assert all(str(date.today()) in each.name for each in done.files)
    assert before.items() <= content(first.parent).items()
    assert (done.held, done.new, done.missing) == (4, 1, ())
    assert [*read_published(runs_of(done)).runs] == [last]
    assert export(plan, "tiny", results, tmp_path / "out").files == ()  # nothing is new
    restore(exports_in([tmp_path / "out"]), there)
    assert content(there) == content(results)


def test_each_row_says_of_which_method_it_is_and_whether_it_only_is_a_trial(tmp_path):
    plan = project(tmp_path, SEARCHING)
    told = roles(plan, "tiny")
    trials = {trial for trials in plan.trials.values() for trial in trials}
    assert {key for key, role in told.items() if role[1]} == trials - {
        cell.run_id for cell in plan.cells
    }
    for cell in plan.cells:
        assert told[cell.run_id] == (cell.coords["method"], False)
        for trial in plan.trials.get(plan.searches.get(cell.run_id), ()):
            assert told[trial][0] == cell.coords["method"]


def test_a_run_trained_twice_is_refused_by_name(plan, results, file, there, refuses):
    spec = next(iter(plan.runs.values()))
    restore([file], there)
    finish(there, spec, accuracy=0.9)
    words = (
        f"run {spec.id} is not the same in .*/runs/{spec.id} and run `fedbench restore`, "
        "or move the published file away and run `fedbench export`"
    )
    with refuses(words):
        export(plan, "tiny", there, file.parent.parent)
    before = content(there)
    with refuses(words):
        restore([file], there)
    assert content(there) == before


def test_a_run_trained_again_with_the_same_numbers_is_no_conflict(plan, results, file):
    spec = next(iter(plan.runs.values()))
    later = {"seconds": {"train": 9.0}, "ended": "2030-01-01T00:00:00+00:00", "processor": "new"}
    finish(results, spec, accuracy=0.5 + 0.1 * spec.seed, record=later)
    done = export(plan, "tiny", results, file.parent.parent)
    assert (done.held, done.files) == (4, ())
    assert restore([file], results).there == 4
    assert Results(results).run(spec.id).record()["seconds"] == {"train": 9.0}


def test_files_of_two_machines_become_one_folder(plan, results, there, tmp_path):
    a, b, c, _ = plan.runs
    for name, gone in (("a", (a, b)), ("b", (c,))):
        part = shutil.copytree(results, tmp_path / name / "results")
        for run_id in gone:
            forget(part, run_id)
        export(plan, "tiny", part, tmp_path / "both" / name)
    files = exports_in([tmp_path / "both/a", *exports_in([tmp_path / "both/b"])])
    assert restore(files, there).written == 4  # the last is in both
    assert content(there) == content(results)


def test_files_that_disagree_are_refused_before_anything_is_written(
    plan, results, file, there, tmp_path, refuses
):
    spec = next(iter(plan.runs.values()))
    finish(results, spec, accuracy=0.9)
    other = runs_of(export(plan, "tiny", results, tmp_path / "other"))
    with refuses(f"run {spec.id} is not the same in {file} and in {other}"):
        restore([file, other], there)
    assert not there.exists()


def test_a_run_of_other_numerics_is_refused(plan, results, file, there, monkeypatch, refuses):
    monkeypatch.setattr("fedbench.jobs.export_and_restore.NUMERICS", NUMERICS + 1)
    words = f"has numerics {NUMERICS}, and this fedbench has {NUMERICS + 1}"
    with refuses(words):
        restore([file], there)
    with refuses(words):
        export(plan, "tiny", results, file.parent.parent)


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
    file = again(file, data={})
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
    file = runs_of(export(plan, "tiny", results, tmp_path / "out"))
    winner = Results(results).winner(next(iter(plan.trials)))
    respelled = winner.read_text().replace('"lr": 1\n', '"lr": 1.0\n')
    assert json.loads(respelled)["chosen"] == {"lr": 1.0}
    winner.write_text(respelled)
    assert restore([file], results).there == len(plan.runs)
    assert winner.read_text() == respelled
    assert export(plan, "tiny", results, file.parent.parent).files == ()


def test_a_winner_is_restored_as_it_was_chosen_and_an_edited_one_is_not_published(tmp_path):
    plan, results = project(tmp_path, SEARCHING), tmp_path / "results"
    winner = Results(results).winner(next(iter(plan.trials)))
    write_json(winner, written := signed(read_json(winner), results))
    file = runs_of(export(plan, "tiny", results, tmp_path / "out"))
    restore([file], tmp_path / "again")
    again = read_json(Results(tmp_path / "again").winner(winner.stem))
    assert again["chosen"] == written["chosen"]
    assert is_as_chosen(again, tmp_path / "again")
    write_json(winner, written | {"chosen": {"lr": 2}})
    with pytest.raises(FedbenchError, match="is not what the search chose, by its checksum"):
        export(plan, "tiny", results, tmp_path / "other")


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
    whole, count = files.atomic, iter(range(writes))

    def killed(path):
        if next(count, None) is None:
            raise KeyboardInterrupt
        return whole(path)

    monkeypatch.setattr("fedbench.base.files.atomic", killed)
    with pytest.raises(KeyboardInterrupt):
        restore([file], there)
    for record in Results(there).records():
        assert Results(there).run(record.parent.name).finished(record.parent.name)
    monkeypatch.undo()
    done = restore([file], there)
    assert done.written + done.there == 4
    assert all(Results(there).stamp(run_id).exists() for run_id in plan.runs)


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
        ({"rounds": "two"}, "rounds = 'two' is not allowed"),
    ],
)
def test_a_record_that_contradicts_itself_is_one_sentence(file, refuses, fields, words):
    run_id, run = next(iter(read_published(file).runs.items()))
    edited = replace(run, record={**run.record, **fields})
    with refuses(f"{file}: run {run_id}.*{words}"):
        require_sound(Published({run_id: edited}), file)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (
            {"data": {"digits": {"name": "digits"}}},
            "data set digits: the field checksum is missing",
        ),
        ({"searches": {"12ab": {"trials": []}}}, "search 12ab: the field chosen is missing"),
        ({"data": {"../x": {"checksum": "ab"}}}, "name = '../x' is not allowed"),
        ({"searches": {"/x": {"chosen": {}}}}, "name = '/x' is not allowed"),
    ],
)
def test_things_that_are_not_whole_are_one_sentence(file, there, refuses, part, words):
    file = again(file, **part)
    with refuses(f"{file}: .*{words}"):
        restore([file], there)
    assert not there.exists()


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "..", "a/b", "a\x00", "x" * 300])
def test_a_name_that_leads_elsewhere_is_refused(plan, file, there, refuses, name):
    runs = read_published(file).runs
    run = next(iter(runs.values()))
    with refuses(r"is not allowed: a name is up to 200 of the letters"):
        restore([again(file, runs={name: run})], there)
    tables = {**run.tables, name: run.tables["clients"]}
    key = next(iter(runs))
    with refuses(r"is not allowed: a name is up to 200 of the letters"):
        restore([again(file, runs={key: replace(run, tables=tables)})], there)
    assert not there.exists()


def test_a_run_without_rounds_is_one_sentence(file, refuses):
    key, run = next(iter(read_published(file).runs.items()))
    with refuses(f"here: run {key}: has no rounds"):
        require_sound(Published({key: PublishedRun(run.record, {})}), "here")


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
    published = runs_of(export(plan, "tiny", results, folder / "published"))
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


def test_the_command_says_what_is_published_and_what_is_missing(
    made, results, tmp_path, monkeypatch
):
    monkeypatch.chdir(made[0])
    first, *_ = made[1].runs
    forget(results, first)
    Results(results).data("digits").unlink()
    out = tmp_path / "out"
    words = ["export", "tiny", "--scale", "paper", "--results", str(results), "--out", str(out)]
    said = CliRunner().invoke(app, words).output
    size = sum(file.stat().st_size for file in (out / "tiny").iterdir()) / 1e6
    end = f"missing: {first}; without the facts of the data sets digits\n"
    assert said == f"{out}/tiny: 3 of 4 planned runs; 3 new, {size:.2f} MB; {end}"
    words[1:2] = ["--papers", "tiny"]
    said = CliRunner().invoke(app, words).output
    assert said == f"{out}/tiny: 3 of 4 planned runs; nothing is new; {end}"


def test_nothing_published_is_one_sentence(tmp_path, refuses):
    with refuses("has no published results"):
        exports_in([tmp_path])
    with refuses("nowhere: there is no such file or folder"):
        exports_in([tmp_path / "nowhere"])


def test_a_file_of_an_earlier_version_names_the_version_that_reads_it(file, there, refuses):
    old = file.parent.parent / "tiny.parquet"
    old.write_bytes(b"")
    for place in (old, old.parent):
        with refuses(f"{old}: .*one of fedbench 0.1 is restored with that version"):
            restore(exports_in([place]), there)


def test_frames_read_what_was_restored(plan, file, there):
    restore([file], there)
    frame = collect(list(plan.runs.values()), there)
    assert frame.groupby("round")["accuracy"].mean().round(6).tolist() == [0.25, 0.55]
