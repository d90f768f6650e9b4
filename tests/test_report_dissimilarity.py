"""The figure of the gradients' dissimilarity, by hand."""

import pandas as pd

from fedbench.report.kinds.dissimilarity import _lines
from fedbench.report.panel import Panel


class ByHand(Panel):
    """A panel whose table is given: two seeds at the mean, two single models of the first."""

    def table(self, name):
        rows = [
            ("mean", 0, 0.0, 2.0), ("mean", 0, 30.0, 1.0),
            ("mean", 1, 0.0, 4.0), ("mean", 1, 30.0, 3.0),
            ("single", 0, 0.0, 5.0), ("single", 0, 0.0, 9.0),
        ]  # fmt: skip
        table = pd.DataFrame(rows, columns=["models", "seed", "lam", "dissimilarity"])
        return table.assign(weights="normalised")


def test_a_line_is_the_mean_over_seeds_and_single_models_share_one():
    lines = {(model, weights): line for model, weights, line in _lines(ByHand({}, "", "", ()))}
    assert lines["mean", "normalised"].to_dict() == {0: 3, 30: 2}
    assert lines["single", "normalised"].to_dict() == {0: 7}
