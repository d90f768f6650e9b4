"""Normalisation by the training rows, by hand."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn

from fedbench import Dataset, Machine, RunSpec, run
from fedbench.data.columns_and_channels import moments, warn_unscaled
from fedbench.data.dataset import Normalisation
from fedbench.engine.assemble import assemble

EVERYTHING = np.arange(4)
CPU = Machine(device="cpu", workers=1)


def dataset(x, **more):
    x, y = np.asarray(x), np.arange(len(x)) % 2
    return Dataset("own", x, y, x, y, 2, **more)


def test_columns_of_a_table():
    # 1, 3: mean 2, deviation 1; a column that never varies is left at 0
    found = moments(dataset([[1.0, 5.0], [3.0, 5.0]]), np.arange(2))
    assert [list(values) for values in found] == [[2, 5], [1, 1]]


def test_channels_of_images_in_units_of_pixels():
    x = np.zeros((4, 1, 2, 2), np.uint8)  # two channels: 0 and 255 by turns, and 51 throughout
    x[:2, ..., 0], x[..., 1] = 255, 51
    found = moments(dataset(x), EVERYTHING)
    assert [list(values) for values in found] == [[0.5, pytest.approx(0.2)], [0.5, 1]]
    grey = moments(dataset(x[..., 0]), EVERYTHING)
    assert [list(values) for values in grey] == [[0.5], [0.5]]


def prepared(data, **settings):
    spec = RunSpec(clients=1, normalise=True, precision="float64", **settings)
    problem = assemble(spec, {"data": data}, CPU, None)
    return problem.task.prepare(problem.task.x), problem


def test_what_the_network_sees_has_mean_0_and_deviation_1():
    rng = np.random.default_rng(0)
    for x in (
        rng.normal(50, 9, size=(40, 3)),
        rng.integers(0, 99, size=(40, 4, 4, 3), dtype=np.uint8),
        rng.normal(50, 9, size=(40, 4, 4)),
    ):
        seen, _ = prepared(dataset(x))
        axes = (0, 2, 3) if seen.ndim == 4 else (0,)
        assert torch.allclose(seen.mean(axes), torch.zeros(()).double(), atol=1e-12)
        assert torch.allclose(seen.std(axes, correction=0), torch.ones(()).double())


def test_digits_can_be_normalised():
    problem = assemble(RunSpec(normalise=True, precision="float64"), {}, CPU, None)
    seen = problem.task.prepare(problem.task.x)
    assert float(seen.mean()) == pytest.approx(0, abs=1e-9)
    assert float(seen.std(correction=0)) == pytest.approx(1)


def test_held_out_rows_do_not_count():
    seen, problem = prepared(dataset(np.arange(20.0).reshape(20, 1) ** 2), validation=0.3)
    (rows,) = problem.rows
    assert len(rows) == 14
    assert float(seen[rows].mean()) == pytest.approx(0, abs=1e-12)
    assert abs(float(seen.mean())) > 0.01


def test_known_means_of_pixels_are_taken_as_they_are():
    x = np.full((4, 2, 2), 255, np.uint8)
    seen, _ = prepared(dataset(x, normalisation=Normalisation((0.5,), (0.25,))))
    assert seen.unique().tolist() == [2.0]


def test_large_columns_are_named():
    x = np.array([[0.0, 900.0, -1e6], [1.0, 901.0, 1e6]])
    with pytest.warns(UserWarning, match="'own': height, weight of 3 columns have"):
        warn_unscaled(dataset(x, columns=("share", "height", "weight")), np.arange(2))
    with pytest.warns(UserWarning, match="column 2, column 3 of 3"):
        warn_unscaled(dataset(x), np.arange(2))
    with warnings.catch_warnings(action="error"):
        warn_unscaled(dataset(x[:, :1]), np.arange(2))
        warn_unscaled(dataset(np.full((2, 3, 3), 0.99)), np.arange(2))
        warn_unscaled(dataset(np.full((2, 3, 3), 255, np.uint8)), np.arange(2))


def test_images_that_are_not_scaled_are_named():
    x = np.zeros((2, 3, 3, 2))
    x[..., 1] = 255
    with pytest.warns(UserWarning, match="'own': channel 2 of 2 channels have .* normalise: true"):
        warn_unscaled(dataset(x), np.arange(2))
    with pytest.warns(UserWarning, match="channel 1 of 1 channels have"):
        warn_unscaled(dataset(x[..., 1]), np.arange(2))
    with pytest.warns(UserWarning, match="divided by 255, but the largest that was found is 1,"):
        warn_unscaled(dataset((x[..., 1] > 0).astype(np.uint8)), np.arange(2))


def test_a_table_of_uint8_is_never_divided_by_255(cpu):
    x = np.eye(2, dtype=np.uint8)[np.arange(40) % 2]  # one-hot columns
    data = dataset(x)
    problem = assemble(RunSpec(clients=1), {"data": data}, CPU, None)
    assert problem.task.prepare(problem.task.x[:2]).tolist() == [[1, 0], [0, 1]]
    assert [each.tolist() for each in moments(data, np.arange(40))] == [[0.5] * 2, [0.5] * 2]
    spec = RunSpec(model={"mlp": {"hidden": 8}}, clients=2, rounds=5, lr=0.5)
    same = dataset(x.astype(np.float32))
    scores = [run(spec, data=each, machine=cpu).history["loss"].tolist() for each in (data, same)]
    assert scores[0] == scores[1]


def test_results_of_tables_that_were_divided_by_255_are_told_apart():
    # the checksum is that of all that a run sees: images as ever, such a table anew
    image, table = np.ones((2, 2, 1), np.uint8), np.ones((2, 2), np.uint8)
    assert dataset(image).checksum.startswith("391fd2cc993e")
    assert not dataset(table).checksum.startswith("dd6251fce092")


def test_columns_are_named_all_or_not_at_all(refuses):
    with refuses("own: 1 columns are named; x_train has 2"):
        dataset(np.ones((2, 2)), columns=("a",))


def test_a_network_may_make_images_of_the_rows_of_a_table():
    # With 16 channels or more, images are laid out with their channels last; rows have no channels.
    data = dataset(np.ones((20, 9), np.float32))
    unfold = nn.Unflatten(1, (1, 3, 3))
    model = nn.Sequential(unfold, nn.Conv2d(1, 16, 2), nn.Flatten(), nn.Linear(64, 2))
    task = assemble(RunSpec(clients=1), {"data": data, "model": model}, CPU, None).task
    assert task.prepare(task.x[:2]).tolist() == [[1.0] * 9] * 2
