"""Probes that look at the cohort's models: `locals`, `changes`, `embedding`, `regions`."""

import functools

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from fedbench import Dataset, Machine, RunSpec, run
from fedbench.core.flat_network import Model
from fedbench.engine.assemble import assemble
from fedbench.probes.feature_and_decision_maps import Embedding, mesh, painted, plane, silhouette
from fedbench.probes.scores import class_accuracy
from tests.few import few_digits
from tests.probes.test_probes import objects, spec_of

CPU = Machine(device="cpu", workers=1)


@functools.cache
def result(**settings):
    """Every model's probe on the plane."""
    watch = ["locals", "changes", {"embedding": {"samples": 60, "perplexity": 5.0}},
             {"regions": {"grid": 7}}]  # fmt: skip
    spec = spec_of("").changed(watch=watch, lr=0.3, eval_every=1, **settings)
    return run(spec, machine=CPU, **objects())


@functools.cache
def alone():
    """A cohort of one: its model is the next global model."""
    return result(participation=0.2)


# Classes


def axis_model():
    """Says class 1 right of the axis, else class 0, and never class 2."""
    model = nn.Linear(2, 3, bias=False, dtype=torch.float64)
    model.weight.data = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.5, 0.0]], dtype=torch.float64)
    return model


def signs():
    """Four points; the last lies on the wrong side."""
    x = np.array([[1.0, 0], [2, 0], [-1, 0], [-2, 0]])
    y = np.array([1, 1, 0, 1])
    data = Dataset("signs", x, y, x, y, classes=3)
    spec = RunSpec(clients=1, precision="float64")
    return assemble(spec, {"data": data, "model": axis_model()}, CPU, None)


def test_accuracy_of_each_class_by_hand():
    problem = signs()
    zero, one, none = class_accuracy(problem, problem.fed.start).tolist()
    assert (zero, one) == (1, pytest.approx(2 / 3))
    assert np.isnan(none)  # no test sample


def test_changes_add_up_to_the_accuracies_of_the_models():
    history, table = alone().history, alone().tables["changes"]
    _, y = points_of_the_test_set()
    shares = np.bincount(y) / len(y)
    assert table["round"].eq(3).all()
    assert table["label"].tolist() == [0, 1, 2]
    assert table["before"] @ shares == pytest.approx(history["accuracy"].iloc[1])
    assert table["after"] @ shares == pytest.approx(history["accuracy"].iloc[2])
    gained = 100 * (table["after"] - table["before"])
    assert table["change"].tolist() == pytest.approx(gained.tolist())
    held = alone().tables["clients"].set_index(["client", "label"])["count"]
    counts = table.set_index(["client", "label"])["count"]
    assert counts[counts > 0].tolist() == held[counts[counts > 0].index].tolist()


def test_classes_with_fewer_than_half_of_an_even_share_are_rare():
    table = alone().tables["changes"]
    # three classes: an even share is a third of the client's samples
    rare = table["count"] < table["count"].sum() / 6
    assert table["held"].tolist() == ["rare" if x else "common" for x in rare]


def points_of_the_test_set():
    data = objects()["data"]
    return data.x_test, data.y_test


def test_changes_at_another_round_of_more_clients():
    watch = [{"changes": {"at": 2, "clients": 3}}]
    spec = spec_of("").changed(watch=watch, participation=1.0)
    table = run(spec, machine=CPU, **objects()).tables["changes"]
    assert table["round"].unique().tolist() == [2]
    assert table["client"].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


# Local models


def test_of_one_client_the_local_model_is_the_global_one():
    history = alone().history
    assert history["local_accuracy"].tolist() == history["accuracy"].tolist()
    assert history["silhouette"].iloc[-1] == history["silhouette_local"].iloc[-1]


def test_local_accuracy_is_the_mean_over_the_cohort():
    spec = spec_of("").changed(
        watch=["locals", {"changes": {"clients": 4}}], participation=1.0, lr=0.3
    )
    both = run(spec, machine=CPU, **objects())
    y = points_of_the_test_set()[1]
    table = both.tables["changes"].set_index(["client", "label"])["after"].unstack()
    mean = (table @ (np.bincount(y) / len(y))).mean()
    assert both.history["local_accuracy"].iloc[-1] == pytest.approx(mean)


# Embedding


def test_silhouette_by_hand():
    # two pairs: (10 − 0)/10 for each point; its mate far off, (5 − 10)/10
    far = np.array([[0.0], [0.0], [10.0], [10.0]])
    assert silhouette(far, np.array([0, 0, 1, 1])) == pytest.approx(1)
    assert silhouette(far, np.array([0, 1, 0, 1])) == pytest.approx(-0.5)
    assert np.isnan(silhouette(far, np.zeros(4, int)))
    assert np.isnan(silhouette(far, np.arange(4)))


def test_a_map_keeps_clusters_apart_and_depends_on_its_seed_alone():
    rng = np.random.default_rng(0)
    features = np.concatenate([rng.normal(at, 0.1, (15, 5)) for at in (0, 5)])
    one = plane(features, 30.0, 2**40 + 1)  # more than fits 30 samples, and a long seed
    assert np.array_equal(one, plane(features, 30.0, 2**40 + 1))
    assert silhouette(one, np.repeat([0, 1], 15)) > 0.5


def test_the_map_of_a_collapsed_network_is_one_point():
    assert np.array_equal(plane(np.ones((7, 3)), 30.0, 0), np.zeros((7, 2)))


def test_the_embedding_shows_what_the_scored_model_says():
    table = result().tables["embedding"]
    models = dict(iter(table.groupby("model")))
    assert {name: len(rows) for name, rows in models.items()} == {"global": 60, "local": 60}
    own = models["global"]
    accuracy = (own["label"] == own["predicted"]).mean()
    assert accuracy == pytest.approx(result().history["accuracy"].iloc[-1])
    assert np.isfinite(table[["x", "y"]].to_numpy()).all()
    for rows in models.values():  # of the drawn model, not the mean over the cohort
        hits = (rows["label"] == rows["predicted"]).mean()
        assert rows["accuracy"].to_numpy() == pytest.approx(hits)
    assert not models["local"]["predicted"].equals(own["predicted"].set_axis(range(60, 120)))


def test_samples_are_a_fixed_subset():
    few = [{"embedding": {"samples": 20, "perplexity": 3.0}}]
    labels = []
    for lr in (0.1, 0.3):
        spec = spec_of("").changed(watch=few, lr=lr, rounds=1)
        table = run(spec, machine=CPU, **objects()).tables["embedding"]
        labels.append(table["label"].tolist())
    assert labels[0] == labels[1]
    assert labels[0][:20] == labels[0][20:]


@pytest.mark.parametrize(
    ("settings", "params", "words"),
    [({"projection": 1}, {}, "there are 60 and 1"), ({}, {"samples": 1}, "there are 1 and 128")],
)
def test_a_map_needs_two_samples_and_two_features(refuses, settings, params, words):
    problem = assemble(RunSpec(clients=4, **settings), {"data": few_digits()}, CPU, None)
    with refuses(f"embedding needs two test samples and two features; {words}"):
        Embedding(**params).require(problem)


# Regions


def test_a_mesh_by_hand():
    wanted = [[-4, -4], [-4, 0], [-4, 4], [0, -4], [0, 0], [0, 4], [4, -4], [4, 0], [4, 4]]
    assert mesh(3, 4.0).tolist() == wanted


def predicted(problem, model, points):
    rows = painted(problem, model, points, torch.zeros(len(points)), {})
    return [row["predicted"] for row in rows]


def test_predictions_by_hand():
    problem = signs()
    found = predicted(problem, problem.fed.start, mesh(3, 4.0))
    assert found == [0, 0, 0, 0, 0, 0, 1, 1, 1]


def test_regions_hold_every_model_and_each_clients_own_points():
    table = result(participation=0.5).tables["regions"]
    grids = table[table["kind"] == "grid"]
    clients = [name for name in table["model"].unique() if name != "global"]
    assert len(clients) == 2
    assert grids.groupby("model").size().tolist() == [49, 49, 49]
    assert grids["label"].eq(-1).all()
    assert (grids["x1"].min(), grids["x1"].max()) == (-4, 4)
    data = objects()["data"]
    classes = pd.DataFrame(data.x_train.astype(float), columns=["x1", "x2"]).assign(y=data.y_train)
    held = result(participation=0.5).tables["clients"].groupby("client")["count"].sum()
    for name in clients:
        own = table[(table["model"] == name) & (table["kind"] == "point")]
        assert len(own) == held[int(name.removeprefix("client "))]
        assert own.merge(classes, on=["x1", "x2"]).eval("label == y").sum() == len(own)
    assert "point" not in set(table.loc[table["model"] == "global", "kind"])


def test_of_one_client_the_regions_are_the_global_ones():
    table = alone().tables["regions"].query("kind == 'grid'")
    one, other = (own["predicted"].tolist() for _, own in table.groupby("model"))
    assert one == other
    problem = assemble(spec_of(""), objects(), CPU, None)
    global_model = Model(alone().weights, alone().buffers)
    points = mesh(7, 4.0)
    assert other == predicted(problem, global_model, points)
