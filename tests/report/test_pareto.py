"""The Pareto front of a figure."""

from types import SimpleNamespace

import pandas as pd
import pytest
from matplotlib.figure import Figure

from fedbench.report.figures.layout import TIP, draw
from fedbench.report.figures.save import inline
from fedbench.report.figures.style import styles
from fedbench.report.kinds import leads_and_pareto
from fedbench.report.kinds.leads_and_pareto import Pareto, Point, _over_seeds, _point, front
from tests.report.report_case import case, figure_of, frame_of

STYLE = styles(["A"])["A"]


def of(*pairs):
    return [Point(None, cost, score, 0.0) for cost, score in pairs]


def test_the_front_are_the_points_that_no_other_beats_in_both():
    points = of((3, 0.9), (1, 0.5), (2, 0.4), (2, 0.7), (4, 0.9), (5, 0.95))
    assert front(points, lower_is_better=False) == of((1, 0.5), (2, 0.7), (3, 0.9), (5, 0.95))
    losses = of((1, 2.0), (2, 1.0), (3, 1.5))
    assert front(losses, lower_is_better=True) == of((1, 2.0), (2, 1.0))
    assert front([], lower_is_better=False) == []


def test_settings_that_a_mean_is_taken_over_do_not_widen_the_bars():
    # δ = 0.1: 10 and 20, s² = 50; δ = 0.5: 60 and 80, s² = 200; pooled √125
    rows = [(0.1, "A", 0, 10.0), (0.1, "A", 1, 20.0), (0.5, "A", 0, 60.0), (0.5, "A", 1, 80.0)]
    readings = pd.DataFrame(rows, columns=["split", "method", "seed", "value"])
    assert _over_seeds(readings) == pytest.approx(125**0.5)
    assert _over_seeds(readings[:2]) == pytest.approx(50**0.5)
    assert _over_seeds(readings[:1]) == 0
    # and 70 at δ = 0.5: s² = 100 with two degrees of freedom; pooled √((50 + 2 · 100) / 3)
    more = pd.concat([readings, readings[-1:].assign(seed=2, value=70)])
    assert _over_seeds(more) == pytest.approx((250 / 3) ** 0.5)


def test_a_point_may_be_a_mean_over_settings(tmp_path):
    plan = case(tmp_path)
    curves = {seed: [0.1, accuracy] for seed, accuracy in enumerate((0.3, 0.4, 0.5))}
    frame = pd.concat([frame_of(plan, curves), frame_of(plan, curves, alpha=0.1)])
    one = [c.run_id for c in plan.select("toy", "main", {"alpha": 1, "method": "A"})]
    cost = [10.0 if cell else 30.0 for cell in frame["run_id"].isin(one)]
    where = {"method": "A"}
    drawn = figure_of(plan, frame.assign(compute=cost), where=where, over=("alpha",), kind="pareto")
    (panel,) = drawn.panels
    (hue,) = panel.hues
    assert len(hue.planned) == 6
    point = _point(hue, "compute")
    assert (point.cost, point.score) == (pytest.approx(20), pytest.approx(40))
    assert point.spread == pytest.approx(10)


def test_methods_of_ones_own_folder_are_named_among_many(monkeypatch):
    monkeypatch.setattr(leads_and_pareto, "MOST", 2)
    hues = [SimpleNamespace(label=f"M{i}", style=STYLE, place=i, is_own=i == 3) for i in range(4)]
    points = {"M0": (1, 50.0), "M1": (2, 40.0), "M2": (3, 30.0), "M3": (4, 20.0)}
    made = {hue.label: Point(hue, *points[hue.label], 0.0) for hue in hues}
    monkeypatch.setattr(leads_and_pareto, "_point", lambda hue, cost: made[hue.label])
    axes = Figure().subplots()
    Pareto().draw(axes, SimpleNamespace(hues=hues, metric="accuracy"))
    assert [text.get_text() for text in axes.texts] == ["M0", "M3"]


def test_the_base_is_named_and_grey_points_have_no_bars_and_stay_in_their_places(monkeypatch):
    monkeypatch.setattr(leads_and_pareto, "MOST", 2)
    points = {"FedAvg": (1, 30.0), "M1": (1, 50.0), "M2": (1, 40.0), "M3": (2, 60.0)}
    points["M4"] = points["M2"]
    look = {"style": STYLE, "is_own": False}
    hues = [SimpleNamespace(label=name, place=i, **look) for i, name in enumerate(points)]
    made = {hue.label: Point(hue, *points[hue.label], 2.0) for hue in hues}
    monkeypatch.setattr(leads_and_pareto, "_point", lambda hue, cost: made[hue.label])
    axes = Figure().subplots()
    Pareto().draw(axes, SimpleNamespace(hues=hues, metric="accuracy"))
    assert {text.get_text() for text in axes.texts} == {"FedAvg", "M1", "M3"}  # M1, M3: the front
    found = [line for line in axes.lines if line.get_drawstyle() == "default"]  # not the front
    bars = [line.get_xydata() for line in found if len(line.get_xdata()) == 2]
    assert [bar.tolist() for bar in bars] == [
        [[cost, score - 2], [cost, score + 2]] for cost, score in ((1, 30), (1, 50), (2, 60))
    ]
    grey = [x for x in axes.collections if x.get_gid()]
    assert [x.get_offsets().tolist() for x in grey] == [[[1, 40]], [[1, 40]]]  # neither is moved
    assert [x.get_gid().partition(" tip ")[2] for x in grey] == ["M2: 40 at 1", "M4: 40 at 1"]
    alone = [line for line in found if len(line.get_xdata()) == 1]
    marks = {(line.get_marker(), line.get_color()) for line in alone}
    assert len(marks) == 3  # though all have the same style elsewhere


def test_computation_at_the_server_keeps_a_method_off_the_front(monkeypatch):
    def hue(label, *parts):
        run = SimpleNamespace(parts=[SimpleNamespace(name=name) for name in parts])
        return SimpleNamespace(
            label=label,
            style=STYLE,
            place=0,
            diverged=0,
            is_own=False,
            cells=[SimpleNamespace(run=run)],
        )

    hues = [hue("DF", "feddf"), hue("Plain"), hue("Vote", "fedprox", "fedgkdvote")]
    points = {"DF": (1, 50.0), "Plain": (2, 40.0), "Vote": (3, 60.0)}
    made = {each.label: Point(each, *points[each.label], 0.0) for each in hues}
    monkeypatch.setattr(leads_and_pareto, "_point", lambda hue, cost: made[hue.label])
    panel = SimpleNamespace(hues=hues, metric="accuracy", title="")
    for cost, names in (("thousand_sample_passes", ["Plain"]), ("megabytes", ["DF", "Vote"])):
        axes, kind = Figure().subplots(), Pareto(cost)
        kind.draw(axes, panel)
        assert [text.get_text() for text in axes.texts] == names
        assert kind.remark([panel]).endswith(": DF, Vote.") == (cost == "thousand_sample_passes")


def test_a_panel_without_a_point_says_why(tmp_path):
    plan = case(tmp_path)
    for curves, words in (
        (
            {0: [0.1, 0.3], 1: [0.1, 0.4]},
            ["no method has all its runs, with a number"],
        ),  # of three seeds
        ({0: [0.1, 0.3], 1: [0.1, 0.4], 2: [0.1, 0.5]}, ["A"]),
    ):
        frame = frame_of(plan, curves).assign(megabytes=1.0)
        drawn = figure_of(plan, frame, where={"method": "A", "alpha": 1}, kind="pareto")
        (axes,) = draw(drawn).axes
        assert [text.get_text() for text in axes.texts] == words


def test_a_method_with_a_diverged_run_has_no_point_and_is_named(tmp_path):
    # A's seed 2 ends after one round of two, and has spent 1 MB where the others have spent 2
    plan, where = case(tmp_path), {"method": ["A", "<b>"], "alpha": 1}
    whole = {seed: [0.1, 0.5] for seed in range(3)}
    for lost, names, remark in (
        ({}, ["A"], ""),  # A is ahead of <b>, for the same price
        ({2: [0.6]}, ["<b>"], " Not shown, because a run diverged: A."),
    ):
        better = {seed: [0.1, 0.6] for seed in range(3)} | lost
        frame = pd.concat([frame_of(plan, better), frame_of(plan, whole, method="<b>")])
        frame = frame.assign(megabytes=1.0 * frame["round"])
        drawn = figure_of(plan, frame, where=where, kind="pareto")
        assert drawn.caption.partition("are not drawn.")[2] == remark
        (axes,) = draw(drawn).axes
        assert [text.get_text() for text in axes.texts] == names


def test_a_page_names_grey_points_under_the_pointer() -> None:
    axes = Figure().subplots()
    axes.set_gid("panel-0")
    id_ = f"{axes.get_gid()}{TIP}<b> & c: 53 at 744".replace("&", "&amp;").replace("<", "&lt;")
    svg = f'<svg><g id="{id_}"><path/></g><g id="panel-1"/></svg>'
    assert inline(svg, "f") == (
        '<svg><g><title>&lt;b> &amp; c: 53 at 744</title><path/></g><g id="f-panel-1"/></svg>'
    )


def test_a_method_without_a_finite_score_has_no_point(tmp_path):
    plan = case(tmp_path)
    frame = frame_of(plan, {seed: [0.1, 0.2] for seed in range(3)}, "A").assign(megabytes=1.0)
    kind = {"pareto": {"cost": "megabytes"}}
    drawn = figure_of(plan, frame, where={"alpha": 1}, metric="round@to:0.9", kind=kind)
    assert _point(drawn.panels[0].hues[0], "megabytes") is None
