"""Performance profiles, by hand."""

import pandas as pd
import pytest

from fedbench.base.errors import FedbenchError
from fedbench.report.figures.layout import draw
from tests.report.report_case import case, figure_of, frame_of

# The first evaluated round at 50 %, by seed:   0   1   2
CURVES = {
    "A": {0: [0.6, 0.6, 0.6, 0.6], 1: [0.1, 0.5, 0.6, 0.6], 2: [0.1, 0.1, 0.1, 0.5]},
    "<b>": {0: [0.1, 0.5, 0.6, 0.6], 1: [0.6, 0.6, 0.6, 0.6], 2: [0.1, 0.1, 0.1, 0.1]},
}


def profile(tmp_path, metric="round@to:0.5", methods=("A", "<b>")):
    plan = case(tmp_path)
    frame = pd.concat(frame_of(plan, CURVES[method], method) for method in methods)
    kind = {"profile": {"base": "A"}}
    return figure_of(plan, frame, where={"alpha": 1}, metric=metric, kind=kind)


def test_a_base_that_is_not_drawn_has_no_place_in_the_legend(tmp_path):
    drawn = profile(tmp_path, methods=("<b>",))
    assert [label for _, label in drawn.kind.legend(drawn.panels)] == ["<b>"]


def test_the_share_of_problems_that_each_solves_at_a_multiple_of_the_least_cost(tmp_path):
    drawn = profile(tmp_path)
    #        rounds    times the least
    # A     1  2  4        1    2    1
    # <b>   2  1  –        2    1    –
    found = drawn.kind.numbers(drawn.panels).set_index("hue")
    assert [*found.loc["A", ["at_1", "at_1.5", "at_2", "at_10"]]] == pytest.approx(
        [2 / 3, 2 / 3, 1, 1]
    )
    assert [*found.loc["<b>", ["at_1", "at_2", "at_10"]]] == pytest.approx([1 / 3, 2 / 3, 2 / 3])
    (axes,) = draw(drawn).axes
    lines = {tuple(line.get_xdata()): [*line.get_ydata()] for line in axes.lines}
    # what is not reached stands at the right end, and is not counted as solved there
    assert lines[1, 1, 1, 2, 10] == pytest.approx([200 / 3] * 3 + [100] * 2)
    assert lines[1, 1, 2, 10, 10] == pytest.approx([100 / 3] * 2 + [200 / 3] * 3)


def test_a_method_without_runs_is_not_drawn(tmp_path):
    drawn = profile(tmp_path, methods=("A",))
    assert [*drawn.kind.numbers(drawn.panels)["hue"]] == ["A"]
    (axes,) = draw(drawn).axes
    assert len(axes.lines) == 1


def test_what_is_no_cost_is_refused(tmp_path):
    with pytest.raises(FedbenchError, match="metric = 'accuracy' is no cost"):
        draw(profile(tmp_path, metric="accuracy"))


def test_a_run_that_diverged_solves_nothing_however_little_it_cost(tmp_path):
    plan = case(tmp_path)
    frame = pd.concat(frame_of(plan, CURVES[method], method) for method in ("A", "<b>"))
    lost = frame["run_id"].str.contains("fedprox")
    frame["sample_passes"] = frame["round"].where(lost, 2 * frame["round"])
    frame["status"] = lost.map({True: "diverged", False: "finished"})
    kind = {"profile": {"base": "A"}}
    drawn = figure_of(plan, frame, where={"alpha": 1}, metric="sample_passes", kind=kind)
    found = drawn.kind.numbers(drawn.panels).set_index("hue")
    assert found["at_10"].tolist() == [1, 0]
