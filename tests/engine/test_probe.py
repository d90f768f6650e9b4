"""Probes see every round, keep memory over a crash, and change nothing."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import torch

from fedbench import RunSpec, run
from fedbench.base import registry
from fedbench.engine.checkpoint import Checkpoints, save_checkpoint
from fedbench.engine.probe import Probe, Scene
from fedbench.methods.scaffold import Scaffold
from fedbench.sampling.sampler import Sampler

SPEC = RunSpec(dataset="digits", clients=5, participation=0.4, rounds=4, batch=64, eval_every=2)


@dataclass(frozen=True)
class Steps(Probe):
    """How far the model has come in all, and who went."""

    COLUMNS: ClassVar = {"length": ("length", "", "higher")}

    def row(self, s: Scene):
        return {"length": float(s.state["length"])}

    def table(self, s: Scene):
        step = (s.new.w - s.r.w).norm()
        s.state["length"] = s.state.get("length", torch.tensor(0.0)) + step
        return [
            {"round": s.r.round + 1, "client": int(i), "last": str(s.last)} for i in s.r.clients
        ]


@pytest.fixture
def steps(monkeypatch):
    entry = registry.Entry("steps", "", "", {}, "", {})
    monkeypatch.setattr(registry, "find", lambda kind, name, find=registry.find: (
        entry if (kind, name) == ("probe", "steps") else find(kind, name)
    ))  # fmt: skip
    monkeypatch.setattr(registry.Entry, "load", lambda self, load=registry.Entry.load: (
        Steps if self.name == "steps" else load(self)
    ))  # fmt: skip
    return SPEC.changed(watch=["steps"])


def test_a_probe_adds_columns_at_evaluated_rounds_and_rows_in_every_round(steps):
    result = run(steps)
    assert result.history["round"].tolist() == [2, 4]
    assert result.history["length"].is_monotonic_increasing
    assert result.history["length"].iloc[1] > result.history["step_norm"].iloc[1]
    table = result.tables["steps"]
    assert table["round"].tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert table.loc[table["round"] == 4, "last"].tolist() == ["True", "True"]


def test_watching_changes_no_number_but_is_part_of_the_identity(steps):
    plain, watched = run(SPEC), run(steps)
    assert torch.equal(plain.weights, watched.weights)
    assert steps.id != SPEC.id


@dataclass(frozen=True)
class Writes(Probe):
    """Writes these columns."""

    COLUMNS: ClassVar = {"dist": ("distance", "", "lower"), "accuracy": ("accuracy", "", "higher")}
    columns: tuple

    def row(self, s: Scene):
        return dict(self.columns)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("accuracy", 1.0, "wrote the column 'accuracy', which the run has without it"),
        ("round", 7, "wrote the column 'round', which the run has without it"),
        ("train_seconds", 7, "wrote the column 'train_seconds', which the run has without it"),
        ("distance", 1.0, "'distance', but its COLUMNS declare dist, accuracy"),
        (
            "dist",
            torch.tensor(1.0),
            r"wrote tensor\(1.\) into the column 'dist'; it must be a number",
        ),
    ],
)
def test_a_probe_writes_its_own_numbers_only(refuses, column, value, words):
    with refuses(words):
        run(SPEC, probes=(Writes(((column, value),)),))


def test_two_probes_of_one_class_are_refused(refuses):
    for name, probes in (("Steps", (Steps(), Steps())), ("Clients", (Clients(),))):
        with refuses(f"probes: {name} is given twice, or is a table of every run"):
            run(SPEC, probes=probes)


class Clients(Probe):
    """Would write over the table that says who holds which class."""


class Keeps(Probe):
    """Keeps what a checkpoint cannot hold."""

    def table(self, s: Scene):
        s.state["before"] = s.new
        return []


def test_what_a_probe_keeps_are_tensors(refuses):
    with refuses("Keeps stores or sends"):
        run(SPEC, probes=(Keeps(),))


def test_a_probe_remembers_over_a_crash(steps, tmp_path, monkeypatch):
    whole = run(steps)
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoints, "after_round", _stop_after(2))
        with pytest.raises(KeyboardInterrupt):
            run(steps, out=tmp_path / "run")
    resumed = run(steps, out=tmp_path / "run")
    assert resumed.history["length"].tolist() == whole.history["length"].tolist()
    pd.testing.assert_frame_equal(resumed.tables["steps"], whole.tables["steps"])


@dataclass(frozen=True)
class OfNumPy(Probe):
    """Writes NumPy's numbers, as its functions return them."""

    COLUMNS: ClassVar = {"half": ("half", "", "")}

    def row(self, s: Scene):
        return {"half": np.mean([0.0, 1.0])}

    def table(self, s: Scene):
        return [{"round": np.int64(s.r.round + 1), "half": np.float32(0.5), "name": np.str_("a")}]


@dataclass(frozen=True)
class Draws(Sampler):
    """Draws two clients as NumPy returns them."""

    def __call__(self, rng, K, participation, labels):
        return rng.choice(K, size=2, replace=False)


def test_numpys_numbers_in_plug_ins_outlast_a_crash(tmp_path, monkeypatch):
    given = {"probes": (OfNumPy(),), "sampler": Draws(), "parts": (Scaffold(),)}
    whole = run(SPEC, **given)
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoints, "after_round", _stop_after(2))
        with pytest.raises(KeyboardInterrupt):
            run(SPEC, **given, out=tmp_path / "run")
    resumed = run(SPEC, **given, out=tmp_path / "run")
    assert torch.equal(resumed.weights, whole.weights)
    assert resumed.history["half"].tolist() == [0.5, 0.5]
    rows = [{"round": t, "half": 0.5, "name": "a"} for t in (1, 2, 3, 4)]
    assert resumed.tables["ofnumpy"].to_dict("records") == rows


@dataclass(frozen=True)
class Tensors(Probe):
    """Writes what no table can hold."""

    def table(self, s: Scene):
        return [{"norm": s.new.w.norm()}]


def test_a_table_of_tensors_is_refused_in_the_first_round(refuses):
    with refuses(r"tensors wrote tensor\(.*\) into the column 'norm' of its table; it must be a"):
        run(SPEC, probes=(Tensors(),))


class Mixed(Probe):
    """Writes a number into its table, and in the third round a word."""

    def table(self, s: Scene):
        return [{"norm": 1.0 if s.r.round < 2 else "small"}]


def test_a_column_of_numbers_and_words_is_refused_when_it_becomes_one(refuses, tmp_path):
    with refuses("mixed wrote 1.0 and small into the column 'norm' of its table; a column has"):
        run(SPEC, probes=(Mixed(),), out=tmp_path)


def _stop_after(rounds):
    def checkpoint(self, progress, over):
        save_checkpoint(self._file.parent, progress.state() | {"id": self._problem.identity.id})
        if progress.round == rounds:
            raise KeyboardInterrupt

    return checkpoint


def test_every_run_says_who_holds_which_class(tmp_path):
    result = run(SPEC, out=tmp_path / "run")
    held = pd.read_parquet(tmp_path / "run" / "clients.parquet")
    assert held["count"].sum() == sum(result.record["samples"])
    assert held.groupby("client")["count"].sum().tolist() == result.record["samples"]
    assert held["label"].max() == 9


def test_a_probe_cannot_be_named_twice(refuses, steps):
    with refuses("watch has a name twice: steps, steps"):
        steps.changed(watch=["steps", "steps"])


@dataclass(frozen=True)
class Trains(Probe):
    """Writes into all that it is shown."""

    COLUMNS: ClassVar = {"length": ("length", "", "higher")}

    def row(self, s: Scene):
        models = [s.new, s.scored, s.global_model, *s.local]
        for w in (model.w for model in models):
            w.mul_(0)
        for state in s.stored(0):
            for tensor in state.values():
                tensor.mul_(0)
        return {"length": float(s.new.w.norm())}


def test_a_user_s_probe_may_write_into_what_it_is_shown():
    # the parts store c_i, which the probe sets to 0, and which the next round reads
    watched = run(SPEC, parts=(Scaffold(),), probes=(Trains(),))
    plain = run(SPEC, parts=(Scaffold(),))
    assert torch.equal(watched.weights, plain.weights)
    assert watched.history["accuracy"].tolist() == plain.history["accuracy"].tolist()


@dataclass(frozen=True)
class Rows(Probe):
    """Its hook is misspelt."""

    def rows(self, s: Scene):
        return {}


def test_a_probe_with_a_misspelt_hook_or_none_is_refused(refuses):
    with refuses(r"probes: Rows has no hook 'rows'; did you mean 'row'\?"):
        run(SPEC, probes=(Rows(),))
    with refuses(r"probes: Nothing overrides no hook; hooks: see, row, table"):
        run(SPEC, probes=(type("Nothing", (Probe,), {})(),))
