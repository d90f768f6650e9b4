"""The Pareto front of a figure."""

from fedbench.report.kinds.pareto import Point, front


def of(*pairs):
    return [Point(None, cost, score, 0.0) for cost, score in pairs]


def test_the_front_are_the_points_that_no_other_beats_in_both():
    points = of((3, 0.9), (1, 0.5), (2, 0.4), (2, 0.7), (4, 0.9), (5, 0.95))
    assert front(points, lower_is_better=False) == of((1, 0.5), (2, 0.7), (3, 0.9), (5, 0.95))
    losses = of((1, 2.0), (2, 1.0), (3, 1.5))
    assert front(losses, lower_is_better=True) == of((1, 2.0), (2, 1.0))
    assert front([], lower_is_better=False) == []
