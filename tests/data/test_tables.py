"""Columns of a table that are hardly features, worked by hand."""

import warnings

import numpy as np
import pytest

from fedbench import Dataset, RunSpec, run
from fedbench.data.columns_and_channels import described, numbers_rows, scales, suspicions, tells
from fedbench.data.sources.file import File

N = 40
LABELS = np.arange(N) // 20  # sorted by class
NOISE = np.random.default_rng(0).normal(size=N)


def table(**columns):
    x = np.stack([np.asarray(each, np.float64) for each in columns.values()], axis=1)
    return Dataset("own", x, LABELS, x, LABELS, 2, columns=tuple(columns))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (range(N), True),  # as pandas writes it
        (range(N, 0, -1), True),
        ([3 * k + k % 2 for k in range(N)], True),  # in order, with rows left out for testing
        (np.random.default_rng(0).permutation(N) + 1, True),  # mixed since
        (np.random.default_rng(0).permutation(N) * 50, False),  # as prices are
        ([0, *range(N - 1)], False),  # one twice
        (np.arange(N) / 2, False),
        (range(9), False),  # too few rows to say
        (np.arange(N, dtype=np.uint8), True),
    ],
)
def test_what_numbers_the_rows(values, expected):
    assert numbers_rows(np.asarray(values)) is expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (LABELS, True),
        (-3.5 * LABELS, True),
        (np.arange(N) % 2 + 2 * LABELS, True),
        (np.arange(N) % 4 * (1 - LABELS) + 9, False),  # 9 in both classes
        (np.where(np.arange(N) % 2, LABELS, 5 + LABELS), True),  # four values, ten rows each
        (LABELS + np.linspace(0, 0.9, N), True),  # an interval each
        (NOISE, False),  # each value once: it says nothing of other rows
        (np.r_[LABELS[:-1], 0], False),  # all rows but one
    ],
)
def test_what_alone_tells_the_label(values, expected):
    assert tells(np.asarray(values), LABELS) is expected
    mixed = np.random.default_rng(1).permutation(N)
    assert tells(np.asarray(values)[mixed], LABELS[mixed]) is expected


def test_each_kind_is_said_once_with_its_columns():
    data = table(row=range(N), noise=NOISE, same=[7] * N, none=[0] * N, copy=2 - LABELS)
    index, constant, leak = suspicions(data)
    assert index.startswith("row of 5 columns: numbers of the rows, which tell the label if rows")
    assert constant.startswith("same, none of 5 columns: one value in all training rows")
    assert leak.startswith("row, copy of 5 columns: each tells all classes apart alone")
    assert not list(suspicions(table(noise=NOISE, other=NOISE**2)))
    assert described(data)["row"] == "whole numbers from 0 to 39, 40 different"
    assert described(table(a=np.arange(N) / 4))["a"] == "numbers from 0 to 9.75, 40 different"


def test_numbers_that_float32_makes_the_same_are_warned_of(tmp_path):
    for first, warned in ((1, 0), (10**9, 1)):
        rows = "".join(f"{first + k},{'ab'[c]}\n" for k, c in zip(range(N), LABELS, strict=True))
        (tmp_path / "my.csv").write_text(f"id,kind\n{rows}")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            File(path="my.csv").load(tmp_path)
        found = [x for x in said if "column 'id' has numbers" in str(x.message)]
        assert len(found) == warned


def test_an_index_is_warned_of_when_a_run_starts_and_only_in_tables(cpu, tmp_path):
    rows = "".join(f"{k},{v},{'ab'[c]}\n" for k, v, c in zip(range(N), NOISE, LABELS, strict=True))
    (tmp_path / "my.csv").write_text(f"id,noise,kind\n{rows}")
    spec = RunSpec(
        dataset={"file": {"path": "my.csv"}}, model={"mlp": {"hidden": 2}}, clients=2, rounds=1
    )
    for each in (spec, spec.changed(normalise=True)):
        with pytest.warns(UserWarning, match="'file': id of 2 columns: numbers of the rows"):
            run(each, data_dir=tmp_path, machine=cpu)
    assert File(path="my.csv").load(tmp_path).origin["label"] == "kind"
    x, y = np.arange(48.0).reshape(12, 2, 2), np.arange(12) % 2
    with warnings.catch_warnings(action="error"):
        scales(Dataset("images", x, y, x, y, 2), np.arange(12), normalise=True)
