"""AUC, precision, recall and confusion; MSE, MAE and R²: against scikit-learn and by hand."""

import numpy as np
import pytest
import torch
from sklearn import metrics

from fedbench import Dataset, FedbenchError, Machine, RunSpec, run
from fedbench.probes.scores import of_two_classes

CPU = Machine(device="cpu", workers=1)


def measured(y, *margins):
    z = torch.tensor(margins, dtype=torch.float64)
    return of_two_classes(torch.tensor(y), torch.stack([torch.zeros_like(z), z], dim=1))


def test_by_hand():
    # positives 3, 1; negatives 2, 1: 3 > 2, 3 > 1, 1 < 2, 1 = 1: 2.5 of 4
    assert measured([1, 1, 0, 0], 3, 1, 2, 1)[0]["auc"] == 0.625
    assert np.isnan(measured([1, 1], 3, 1)[0]["auc"])
    found, held = measured([0, 0, 0, 1, 1, 1], -1, 1, -1, 1, 1, np.nan)
    assert np.isnan(found.pop("auc"))
    assert held == [[2, 1], [1, 2]]  # what is not finite is wrong
    assert found == {
        "precision_score": 2 / 3, "recall_score": 2 / 3, "specificity": 2 / 3
    }  # fmt: skip
    assert measured([0, 0], -1, -1)[0]["precision_score"] == 0


def two_classes(classes=2):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 3)).astype(np.float32)
    z = x[:, 0] + rng.normal(0, 0.7, 120)
    y = (z > 0.4).astype(np.int64) if classes else z.astype(np.float32)
    return Dataset("two", x[:80], y[:80], x[80:], y[80:], classes=classes)


def trained(data, **settings):
    usual = {"model": "logistic", "clients": 4, "rounds": 4, "eval_every": 2, "lr": 0.3}
    return run(RunSpec(**{**usual, **settings}), data=data, machine=CPU)


def outputs(result, data):
    W, b = result.weights[: -data.inputs.outputs], result.weights[-data.inputs.outputs :]
    return (torch.as_tensor(data.x_test) @ W.view(-1, 3).T + b).numpy()


def test_the_columns_of_a_run_are_scikit_learn_s():
    data = two_classes()
    result = trained(data, watch=["binary"])
    z, last = outputs(result, data), result.history.iloc[-1]
    called, y = z.argmax(1), data.y_test
    assert last["auc"] == pytest.approx(metrics.roc_auc_score(y, z[:, 1] - z[:, 0]))
    assert last["precision_score"] == pytest.approx(metrics.precision_score(y, called))
    assert last["recall_score"] == pytest.approx(metrics.recall_score(y, called))
    assert last["specificity"] == pytest.approx(metrics.recall_score(1 - y, 1 - called))
    table = result.tables["binary"]["count"].to_numpy().reshape(2, 2)
    assert (table == metrics.confusion_matrix(y, called)).all()


@pytest.mark.parametrize("model", ["logistic", "mlp"])
def test_a_model_of_numbers_has_one_output_and_learns(model):
    data = two_classes(classes=0)
    result = trained(data, watch=["regression"], model=model, rounds=30, lr=0.1)
    last = result.history.iloc[-1]
    if model == "logistic":
        assert len(result.weights) == 4
        z = outputs(result, data)[:, 0]
        assert last["r2"] == pytest.approx(metrics.r2_score(data.y_test, z), abs=1e-6)
        assert last["mae"] == pytest.approx(metrics.mean_absolute_error(data.y_test, z), abs=1e-6)
    assert last["mse"] == pytest.approx(2 * last["loss"], rel=1e-6)
    assert last["r2"] > 0.4


def test_other_data_are_refused():
    with pytest.raises(FedbenchError, match=r"needs two classes, but .* has 10"):
        run(RunSpec(watch=["binary"], rounds=1), machine=CPU)
    with pytest.raises(FedbenchError, match="needs numbers for labels"):
        run(RunSpec(watch=["regression"], rounds=1), machine=CPU)


def test_one_class_in_the_test_set_has_no_area():
    data = two_classes()
    none = Dataset("one", data.x_train, data.y_train, data.x_test, np.zeros(40, int), classes=2)
    last = trained(none, watch=["binary"]).history.iloc[-1]
    assert np.isnan(last["auc"])
    assert (last["recall_score"], last["precision_score"]) == (0, 0)
