"""The round that was best on held-out data: its scores, and its model."""

from dataclasses import replace

import pandas as pd
import pytest
import torch

from fedbench import FedbenchError, Machine, Result, RunSpec, run
from fedbench.core.flat_network import Model
from fedbench.engine.assemble import assemble
from fedbench.engine.training import Training
from fedbench.paper.history_metrics import values
from fedbench.paper.metrics import Metric
from fedbench.paper.yaml_notation import reading
from fedbench.store import RunFolder

CPU = Machine(device="cpu", workers=1, keep_model=True)
SPEC = RunSpec(rounds=6, clients=4, validation=0.2, lr=3.0, batch=20, normalise=True)


def test_the_score_is_read_at_the_first_round_with_the_best_validation_accuracy():
    rows = [("a", 1, 0.2, 0.5), ("a", 2, 0.6, 0.7), ("a", 3, 0.9, 0.7), ("b", 1, 0.4, 0.1)]
    frame = pd.DataFrame(rows, columns=["run_id", "round", "accuracy", "val_accuracy"])
    frame["status"] = "finished"
    assert values(frame, "accuracy@held-out", "final") == {"a": 0.6, "b": 0.4}
    assert values(frame, "round@held-out", "final") == {"a": 2, "b": 1}
    assert values(frame.drop(columns="val_accuracy"), "accuracy@held-out", "final") == {}
    assert Metric("accuracy@held-out").label == "Accuracy, at the round best on held-out data"
    assert reading("accuracy@held-out").columns == ("accuracy", "val_accuracy")
    with pytest.raises(FedbenchError, match="'accuracy@held-out:3': after @ must"):
        reading("accuracy@held-out:3")


def test_the_model_of_that_round_is_kept_and_stored(tmp_path):
    result = run(SPEC, machine=CPU, out=tmp_path / "run")
    best = int(result.history["val_accuracy"].idxmax())
    made = assemble(SPEC, {}, CPU, None)
    scored = made.scorers["val_"](Model(result.best["w"], {}))
    assert scored["accuracy"] == result.history["val_accuracy"].max()
    assert scored["loss"] == pytest.approx(result.history["val_loss"][best])
    loaded = Result.load(tmp_path / "run")
    assert torch.equal(loaded.best["w"], result.best["w"])
    assert torch.equal(loaded.weights, result.weights)
    assert run(SPEC.changed(validation=0.0), machine=CPU).best == {}


def test_it_outlives_a_stop(tmp_path):
    whole = run(SPEC, machine=CPU)
    made, saving = assemble(SPEC, {}, CPU, None), replace(CPU, checkpoint_minutes=1e-9)
    first = Training(made, saving, RunFolder(tmp_path))
    for _ in range(3):
        first.round()
    again = Training(made, saving, RunFolder(tmp_path))
    assert again.progress.best_score == first.progress.best_score > 0
    assert torch.equal(again.run().best["w"], whole.best["w"])
