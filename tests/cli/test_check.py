"""`fedbench check`, as a reviewer reads it."""

import shutil

import pytest

from fedbench import Machine
from fedbench.cli import claims as command
from fedbench.jobs.export_and_restore import export
from fedbench.jobs.train import train
from fedbench.jobs.verify import Again
from fedbench.plan.plan import make_plan
from fedbench.store import Results
from tests.cli.test_claims import CLAIMS
from tests.project import PAPER, make_project


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A project whose paper has two claims and four runs, all of them trained."""
    folder = make_project(tmp_path_factory.mktemp("check"), PAPER + CLAIMS)
    plan = make_plan(folder / "workflow", "paper", ("tiny",))
    assert train(plan.runs, [*plan.runs], folder / "results", Machine("cpu"), None) == []
    return folder


@pytest.fixture
def said(cli, place):
    def run(*words, results="results"):
        where = ("--workflow", place / "workflow", "--results", place / results)
        return cli("check", *words, "--scale", "paper", *where)

    return run


def test_a_claim_its_verdict_its_runs_and_one_of_them_again(said, place):
    done = said("tiny.better")
    assert done.exit_code == 0, done.output
    lines = " ".join(done.output.split())
    assert "tiny.better: FedProx is ahead." in lines
    assert "On the printed numbers: holds (+1.00 points)." in lines
    runs = len(make_plan(place / "workflow", "paper", ("tiny",)).runs)
    assert f"Behind it: {runs} of {runs} runs are finished" in lines
    assert "method: FedAvg, FedProx" in lines
    assert ": same It came out the same." in lines


def test_a_paper_alone_lists_its_claims(said):
    output = said("tiny").output
    assert "tiny.better" in output
    assert "tiny.worse" in output
    assert "again" not in output


def test_what_there_is_not_is_said(said):
    assert "no claim of tiny 'betther'; did you mean 'better'?" in said("tiny.betther").output
    done = said("tiny.better", results="nowhere")
    assert done.exit_code == 2
    assert "no run of tiny at scale paper is finished" in " ".join(done.output.split())


def test_published_runs_are_restored_first(said, place, monkeypatch):
    export(
        make_plan(place / "workflow", "paper", ("tiny",)), "tiny", place / "results", place / "out"
    )
    monkeypatch.setattr(command, "PUBLISHED", place / "out")
    done = said("tiny.better", "--no-train", results="other")
    assert "published runs of the paper were restored" in " ".join(done.output.split())
    # a run of one's own, of other last bits, stays
    runs = Results(place / "other")
    mine, lost, *_ = make_plan(place / "workflow", "paper", ("tiny",)).runs
    record, history = runs.run(mine).record(), runs.run(mine).history()
    runs.run(mine).finish(record, history.assign(loss=history["loss"] + 1e-9), {}, {})
    before = runs.run(mine).version()
    shutil.rmtree(runs.run(lost).path)
    done = said("tiny.better", "--no-train", results="other")
    assert "(1 published runs of" in " ".join(done.output.split()), done.output
    assert runs.run(mine).version() == before
    assert runs.run(lost).has_record()


@pytest.mark.parametrize(
    ("again", "code"),
    [
        (Again("r", 0.5, "rounds", ""), 1),  # the same machine: every bit counts
        (Again("r", 1e-9, "rounds", ""), 1),
        (Again("r", 0.01, "rounds", "processor"), 0),
        (Again("r", 0.5, "rounds", "processor", (0.971, 0.970)), 0),  # unstable, but as accurate
        (Again("r", 0.5, "rounds", "processor", (0.97, 0.90)), 1),
    ],
)
def test_how_much_a_run_may_differ(said, monkeypatch, again, code):
    monkeypatch.setattr("fedbench.jobs.verify.train_again", lambda *_: again)
    assert said("tiny.better").exit_code == code
