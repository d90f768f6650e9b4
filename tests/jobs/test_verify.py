"""A finished run that is trained again gives the same bits; what was changed is found."""

import functools
import json
from dataclasses import replace

import pandas as pd
import pytest

from fedbench import RunSpec, run
from fedbench.base.checksums import digest
from fedbench.jobs.export_and_restore import published_run
from fedbench.jobs.verify import Again, train_again
from fedbench.plan.plan_file import write_plan
from fedbench.store import Results
from fedbench.store.published import Published, write_published
from fedbench.store.run import with_checksum
from tests.plan.bare import bare_plan

SPEC = RunSpec(model={"mlp": {"hidden": 4}}, clients=4, rounds=3, parts=["scaffold"])


@pytest.fixture(scope="module")
def results(tmp_path_factory, cpu):
    folder = tmp_path_factory.mktemp("results")
    run(SPEC, out=Results(folder).run(SPEC.id).path, machine=cpu)
    write_plan(bare_plan([SPEC], {"p": (SPEC.id,)}, scale="a"), folder)
    return folder


def record(results, **changes):
    file = Results(results).run(SPEC.id).path / "run.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps(with_checksum(content | changes)))
    return content


def test_the_same_bits(results, cpu):
    again = train_again(SPEC, results, cpu)
    assert (again.difference, again.where, again.build) == (0.0, "", "")
    assert again.words() == f"{SPEC.id}: same"


def test_another_number_is_found_and_placed(results, cpu, monkeypatch):
    from fedbench.store import RunFolder

    def changed(read, self, name):
        frame = read(self, name)
        return (
            frame.assign(accuracy=frame["accuracy"] + [0, 0.25, 0]) if name == "rounds" else frame
        )

    table = functools.partial(changed, RunFolder.table)
    monkeypatch.setattr(RunFolder, "table", lambda self, name: table(self, name))
    again = train_again(SPEC, results, cpu)
    assert again.difference == pytest.approx(0.25)
    assert again.where.startswith("rounds: accuracy ")
    assert again.where.endswith(", row 1")
    assert not again.holds(0.5)  # on the same build every bit counts


def test_another_build_is_named_and_may_differ_a_little(results, cpu):
    before = record(results, versions={"torch": "1.0", "fedbench": "0.0"}, machine="abacus")
    again = train_again(SPEC, results, cpu)
    record(results, **before)
    assert "machine abacus → " in again.build
    assert "versions.torch 1.0 → " in again.build
    assert "fedbench" not in again.build


def test_another_processor_with_the_same_instructions_is_another_build(results, cpu):
    """There sums may be rounded in another order (see `tests/test_retrained.py`)."""
    before = record(results, processor="abacus")
    again = train_again(SPEC, results, cpu)
    record(results, **before)
    assert again.build.startswith("processor abacus → ")
    assert train_again(SPEC, results, cpu).build == ""


@pytest.mark.parametrize(
    ("difference", "build", "holds"),
    [(0.0, "", True), (1e-12, "", False), (0.01, "torch", True), (0.03, "torch", False)],
)
def test_what_is_allowed(difference, build, holds):
    assert Again("a", difference, "rounds", build).holds(0.02) is holds


def test_the_command(cli, results):
    done = cli("verify", "--scale", "a", "--results", results, "--device", "cpu", "--seed", "1")
    assert done.exit_code == 0
    assert "1 of 1 runs came out as they should" in done.output
    nothing = cli("verify", "--scale", "b", "--results", results)
    assert nothing.exit_code == 2


def test_published_runs_are_trained_again_by_their_file(cli, results, tmp_path):
    runs = {SPEC.id: published_run(Results(results).run(SPEC.id), SPEC.id)}
    *_, file = write_published(Published(runs), tmp_path / "p", "2026-01-31", {})
    told = cli("verify", file, "--results", tmp_path / "elsewhere", "--device", "cpu")
    assert told.exit_code == 0, told.output
    assert f"{SPEC.id}: same" in told.output
    outdated = runs[SPEC.id].record | {"settings": SPEC.settings() | {"newer": {"model mlp": 99}}}
    outdated["id"] = f"{SPEC.id.rpartition('-')[0]}-{digest(outdated['settings'])}"
    old = {outdated["id"]: replace(runs[SPEC.id], record=outdated)}
    *_, file = write_published(Published(old), tmp_path / "q", "2026-01-31", {})
    none = cli("verify", file, "--results", tmp_path / "elsewhere")
    assert none.exit_code == 2
    assert "has no run that a plan still asks for" in " ".join(none.output.split())


def test_a_record_says_what_it_was_computed_with(results):
    content = record(results)
    assert content["versions"].keys() >= {"fedbench", "torch", "numpy", "scipy", "python"}
    assert content["machine"].split()[0]
    code = content["code"]
    assert not code or (len(code["commit"]) == 40 and isinstance(code["dirty"], bool))


def test_tables_of_other_sizes_differ():
    from fedbench.jobs.verify import _of_frames

    one, two = pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1, 2]})
    ((difference, where),) = _of_frames(one, two)
    assert difference == float("inf")
    assert where == "(1, 1) rows and columns, now (2, 1)"
    nan = pd.DataFrame({"a": [float("nan"), 2.0], "word": ["x", "y"]})
    assert list(_of_frames(nan, nan.copy())) == []
