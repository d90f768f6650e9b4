"""Batches are the same whether they are made one by one or several at once."""

from functools import partial

import torch

from fedbench import RunSpec, run
from fedbench.engine import local_round
from fedbench.engine.local_round import feed
from tests.few import few_digits

ROWS = [torch.tensor(batch) for batch in ([4, 0, 2], [1, 3, 5], [6, 7])]
VIEWS = [10 * rows[:, None] for rows in ROWS]


def fed(views, **options):
    """All batches, and how many samples were made at a time."""
    made = []

    def make(rows, view):
        made.append(len(rows))
        return (100 * rows + (0 if view is None else view[:, 0])), rows % 2

    return list(feed(make, ROWS, views, **options)), made


def test_one_by_one_on_a_cpu():
    batches, made = fed(None)
    assert made == [3, 3, 2]
    assert [x.tolist() for x, _ in batches] == [[400, 0, 200], [100, 300, 500], [600, 700]]
    assert [y.tolist() for _, y in batches] == [[0, 0, 0], [1, 1, 1], [0, 1]]


def test_two_at_once_with_their_crops():
    batches, made = fed(VIEWS, together=2)
    assert made == [6, 2]
    assert [x.tolist() for x, _ in batches] == [[440, 0, 220], [110, 330, 550], [660, 770]]
    one_by_one, _ = fed(VIEWS)
    for (x, y), (a, b) in zip(batches, one_by_one, strict=True):
        assert torch.equal(x, a)
        assert torch.equal(y, b)


def test_more_at_once_than_there_are():
    batches, made = fed(None, together=100)
    assert made == [8]
    assert len(batches) == 3


def test_a_run_has_the_same_bits(monkeypatch):
    spec = RunSpec(
        dataset="digits", model="mlp", clients=4, rounds=2, batch=16, augment={"crop": 1}
    )  # fmt: skip
    one_by_one = run(spec, data=few_digits()).weights
    monkeypatch.setattr(local_round, "feed", partial(feed, together=3))
    assert torch.equal(run(spec, data=few_digits()).weights, one_by_one)
