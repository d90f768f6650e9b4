"""What clients see of a model, worked out by hand."""

import math
from types import SimpleNamespace

import pytest
import torch

from fedbench.probes import scores
from fedbench.probes.scores import accuracy_at, worst_tenth


def test_a_client_s_accuracy_is_that_of_its_classes_in_their_shares(monkeypatch):
    per_class = torch.tensor([1.0, 0.6, math.nan], dtype=torch.float64)  # no test sample of class 2
    counts = torch.tensor([[4, 0, 0], [0, 2, 0], [1, 3, 5], [0, 0, 7]])
    monkeypatch.setattr(scores, "class_accuracy", lambda *_: per_class)
    problem = SimpleNamespace(own_test=None, fed=SimpleNamespace(labels=counts))
    *seen, blind = accuracy_at(problem, None, range(4)).tolist()
    assert seen == pytest.approx([1.0, 0.6, (1.0 + 3 * 0.6) / 4])
    assert math.isnan(blind)


def test_the_worst_tenth_is_at_least_one_client():
    assert worst_tenth(torch.tensor([0.5, 0.2, math.nan])) == pytest.approx(0.2)
    eleven = torch.arange(11) / 10  # two of eleven: 0 and 0.1
    assert worst_tenth(eleven) == pytest.approx(0.05)
