"""A case may change one field of its grid's search and keep the others."""

import pytest

from fedbench.base.errors import FedbenchError
from fedbench.paper.grid_points import resolve
from fedbench.paper.paper import Paper
from fedbench.spec.compositions import Composition

SEARCH = {"grid": {"lr": [0.1, 0.3]}, "by": "best", "seeds": [0, 1]}
WIDER = {"where": {"method": "FedProx"}, "settings": {"tune.grid": {"fedprox.mu": [0, 1]}}}


def searched(method, settings):
    axes = {"method": ("FedAvg", "FedProx")}
    grid = {"axes": axes, "seeds": [0], "settings": settings, "cases": [WIDER]}
    paper = Paper(title="t", authors="a", grids={"g": grid})
    return resolve(paper, paper.grids["g"], {"method": method}).get("tune")


def test_a_case_lays_another_grid_over_the_search():
    assert searched("FedAvg", {"tune": SEARCH}) == SEARCH
    assert searched("FedProx", {"tune": SEARCH}) == SEARCH | {"grid": {"fedprox.mu": [0, 1]}}


def test_a_field_of_a_search_that_is_not_there_is_refused():
    with pytest.raises(FedbenchError, match="names the search of a run that has none"):
        searched("FedProx", {})


def test_whole_numbers_of_a_main_parameter_stay_whole():
    method = Composition(parts=["fedgkd"], search={"fedgkd.M": [3, 5]})
    assert [type(value) for value in method.search["fedgkd.M"]] == [int, int]
