"""The figure of the gradients' dissimilarity, by hand."""

from types import SimpleNamespace

import pandas as pd
import pytest

from fedbench.base.errors import FedbenchError
from fedbench.report.figures.panels import Panel
from fedbench.report.kinds.probe_figures import Dissimilarity, _lines


class Empty(Panel):
    """A panel whose runs have not been trained."""

    def table(self, name):
        return pd.DataFrame()


class ByHand(Panel):
    """A panel whose table is given: two seeds at the mean, two single models of the first."""

    def table(self, name):
        rows = [
            ("mean", 0, 0.0, 2.0), ("mean", 0, 30.0, 1.0),
            ("mean", 1, 0.0, 4.0), ("mean", 1, 30.0, 3.0),
            ("client 3", 0, 0.0, 5.0), ("client 8", 0, 0.0, 9.0),
        ]  # fmt: skip
        table = pd.DataFrame(rows, columns=["model", "seed", "lam", "dissimilarity"])
        return table.assign(weights="normalised")


def test_a_line_is_the_mean_over_seeds_and_single_models_share_one():
    lines = {name: line for name, _, line in _lines(ByHand({}, "", "", ()))}
    assert lines["mean of the models, normalised"].to_dict() == {0: 3, 30: 2}
    assert lines["2 single models, mean, normalised"].to_dict() == {0: 7}


def test_two_methods_are_refused_because_they_would_share_a_line():
    hues = tuple(SimpleNamespace(label=name) for name in ("FedAvg", "FedAvg+ASD"))
    with pytest.raises(FedbenchError, match="must name one of FedAvg, FedAvg\\+ASD"):
        Dissimilarity().require(Panel({}, "", "", hues))
    Dissimilarity().require(Panel({}, "", "", hues[:1]))


def test_the_legend_says_of_how_many_models_a_line_is_the_mean():
    words = [text for _, text in Dissimilarity().legend([ByHand({}, "", "", ())])]
    assert words == ["mean of the models, normalised", "2 single models, mean, normalised"]


def test_before_any_run_there_is_no_line_and_no_legend():
    assert list(_lines(Empty({}, "", "", ()))) == []
    assert Dissimilarity().legend([Empty({}, "", "", ())]) == []
