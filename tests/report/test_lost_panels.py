"""A panel of which nothing can be drawn says so, in place of numbers at its axes."""

from types import SimpleNamespace

import pytest
from matplotlib.figure import Figure

from fedbench.report.figures.layout import _fill_one


@pytest.mark.parametrize(("value", "said"), [(float("nan"), ["all runs diverged"]), (0.5, [])])
def test_a_panel_in_which_all_runs_diverged(value, said):
    axes = Figure().subplots()
    draw = lambda axes, panel: axes.plot([1, 2], [value, value])  # noqa: E731
    kind = SimpleNamespace(has=lambda panel: True, draw=draw)
    _fill_one(SimpleNamespace(kind=kind), axes, SimpleNamespace(lost=True, title="", part=""))
    assert [text.get_text() for text in axes.texts] == said
    assert bool(len(axes.get_yticks())) is not bool(said)
