"""Figures of every kind from a made-up paper: what stands in the axes, not how it looks."""

import colorsys
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure as MplFigure

from fedbench.base import registry
from fedbench.base.errors import FedbenchError
from fedbench.plan.plan import make_plan
from fedbench.plan.workflow_paths import DRAWN
from fedbench.report.figures.layout import _broken_labels, draw
from fedbench.report.figures.save import inline, readout, write
from fedbench.report.figures.style import INK, THEME, luminance, styles
from fedbench.report.kinds import by_local_step
from fedbench.report.kinds.bars import Bars, Changes
from fedbench.report.kinds.curves import Curves, _passes_per_round
from fedbench.report.kinds.probe_figures import _mean
from fedbench.report.values.collected_frames import Collected
from fedbench.report.values.numbers import signed
from fedbench.spec import RunSpec
from fedbench.spec.compositions import compositions
from tests.report.made_up import PAPER, draw_from, history, made_up, write_tables

NOTHING = pd.DataFrame({name: pd.Series(dtype=object) for name in ("run_id", "status", "round")})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The paper's plan and what was collected of it, all runs finished."""
    folder = tmp_path_factory.mktemp("made")
    plan = made_up(folder)
    write_tables(plan.runs, folder / "runs")
    return plan, Collected(history(plan.runs), folder / "runs")


def shown(made, key):
    with mpl.rc_context(THEME):
        return draw(draw_from(made[0], key, made[1]))


def panel_of(made, key, i=0):
    return draw_from(made[0], key, made[1]).panels[i]


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()] if figure.legends else []


def texts(figure):
    return [t.get_text() for t in figure.texts] + [
        t.get_text() for axes in figure.axes for t in axes.texts
    ]


def own(made, key, metric="accuracy"):
    """A metric (rounds × runs) of the first hue of the first panel."""
    runs = sorted(panel_of(made, key).hues[0].planned)
    frame = made[1].frame[made[1].frame["run_id"].isin(runs)]
    return frame.pivot(index="round", columns="run_id", values=metric)


# Panels, titles and legends


def test_panels_are_a_grid_with_titles_and_one_legend_below(made):
    figure = shown(made, "six")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[0] == "CIFAR-10, α = 1"
    assert titles[5] == "CIFAR-100, α = 0.1"
    assert figure.axes[0].get_gridspec().get_geometry() == (2, 3)
    assert [axes.get_xlabel() != "" for axes in figure.axes] == [False] * 3 + [True] * 3
    assert [axes.get_ylabel() != "" for axes in figure.axes] == [True, False, False] * 2
    assert legend(figure)[:2] == ["FedAvg", "FedAvg+ASD"]
    assert len(legend(figure)) == 6


def test_what_where_sets_stands_in_the_title(made):
    assert draw_from(made[0], "one", made[1]).title == "Fig. 7, CIFAR-10, α = 1"
    assert draw_from(made[0], "bubbles", made[1]).title == "Fig. 3, top, C = 0.2, FedAvg"


def test_several_metrics_are_panels_of_their_own(made):
    figure = shown(made, "both")
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "Training loss, α = 1", "Training loss, α = 0.1", "Accuracy, α = 1", "Accuracy, α = 0.1",
    ]  # fmt: skip
    assert [axes.get_ylabel() for axes in figure.axes[::2]] == [
        "Training loss", "Test accuracy (%)",
    ]  # fmt: skip


def test_missing_and_diverged_runs_are_in_the_legend(made):
    plan, collected = made
    runs = sorted(panel_of(made, "one").hues[0].planned)
    frame = collected.frame[collected.frame["run_id"] != runs[0]].copy()
    frame.loc[frame["run_id"] == runs[1], "status"] = "diverged"
    found = shown((plan, Collected(frame, collected.runs)), "one")
    assert legend(found) == ["FedAvg (2 of 3 seeds, 1 diverged)", "FedAvg+ASD"]
    told = readout(draw_from(plan, "one", Collected(frame, collected.runs)), found)
    assert [line["said"] for line in told[0]["lines"]] == legend(found)
    many = shown((plan, Collected(frame, collected.runs)), "six")
    assert legend(many)[0] == "FedAvg (17 of 18 runs, 1 diverged in CIFAR-10, α = 1)"
    everywhere = Collected(frame.assign(status="diverged"), collected.runs)
    lost = legend(shown((plan, everywhere), "six"))[0]
    assert "2 diverged in CIFAR-10, α = 1; 3 in CIFAR-10, α = 0.5; 3 in" in lost


@pytest.mark.parametrize("key", ["one", "levels", "boxes", "bubbles", "changes", "regions"])
def test_without_runs_the_figure_says_so(made, key):
    assert "no run is finished" in texts(shown((made[0], Collected(NOTHING, made[1].runs)), key))


def test_a_run_that_left_no_table_is_no_run(made, tmp_path):
    assert "no run is finished" in texts(
        shown((made[0], Collected(made[1].frame, tmp_path)), "density")
    )


def test_a_substitute_is_marked(tmp_path):
    plan = made_up(tmp_path, "small")
    collected = Collected(history(plan.runs), tmp_path)
    assert "not tested at this scale" in texts(shown((plan, collected), "one"))
    assert "not tested at this scale" in texts(shown((plan, collected), "bubbles"))


def test_a_figure_needs_the_probe_it_reads(refuses, tmp_path):
    made_up(tmp_path, text=PAPER.replace("embedding, changes", "changes"))
    with refuses(r"figures\.embedding: .*'embedding'.*`watch`"):
        make_plan(tmp_path / "workflow", "paper")


def test_a_figure_needs_its_column(refuses, made):
    frame = made[1].frame.drop(columns="step_norm")
    with refuses(r"figures\.smooth: no run has the column 'step_norm'"):
        draw_from(made[0], "smooth", Collected(frame, made[1].runs))


def test_a_figure_of_an_axis_that_is_not_there_is_refused(refuses, tmp_path):
    text = PAPER.replace("kind: {levels: {axis: C}}", "kind: levels")
    with refuses("no axis 'participation'; choose from C, alpha, "):
        made_up(tmp_path, text=text)


def test_the_same_figure_has_the_same_bytes_and_takes_the_pages_colours(made, tmp_path):
    drawing = draw_from(made[0], "boxes", made[1])
    files = [tmp_path / f"{drawing.key}.{ending}" for ending in DRAWN]
    write(lambda: draw(drawing), *files)
    first = [file.read_bytes() for file in files]
    write(lambda: draw(drawing), *files)
    assert [file.read_bytes() for file in files] == first
    assert INK in first[0].decode()
    assert INK not in inline(first[0].decode(), "x")


# Kinds


def test_a_curve_is_the_mean_over_the_seeds(made):
    line = shown(made, "one").axes[0].lines[0]
    np.testing.assert_allclose(line.get_ydata(), 100 * own(made, "one").mean(axis=1))
    assert line.get_xdata()[-1] == 60


def test_a_band_is_one_sample_deviation_on_either_side(made):
    (band,) = shown(made, "one").axes[0].collections[0].get_paths()
    values = 100 * own(made, "one")
    for t in (1, 60):
        low, high = (f(y for x, y in band.vertices if x == t) for f in (min, max))
        mean, std = values.loc[t].mean(), values.loc[t].std(ddof=1)
        assert (low, high) == (pytest.approx(mean - std), pytest.approx(mean + std))


def test_rounds_that_cost_nothing_are_no_further_runs(tmp_path):
    plan = made_up(tmp_path, text=PAPER.replace("x: units", "x: megabytes"))
    frame = history(plan.runs)
    until = frame["round"].clip(upper=30)  # as if all runs had diverged then
    axes = shown((plan, Collected(frame.assign(megabytes=2.0 * until), tmp_path)), "units").axes[0]
    assert axes.lines[0].get_xdata().tolist() == [2.0 * t for t in range(1, 31)]
    hue = draw_from(plan, "units", Collected(frame, tmp_path)).panels[0].hues[0]
    assert axes.lines[0].get_ydata()[-1] == pytest.approx(hue.curves.loc[60].mean())


def test_a_smoothed_curve_averages_the_values_before(made):
    line = shown(made, "smooth").axes[0].lines[0]
    mean = own(made, "smooth", "step_norm").mean(axis=1).to_numpy()
    assert line.get_ydata()[0] == pytest.approx(mean[0])
    assert line.get_ydata()[30] == pytest.approx(mean[21:31].mean())


def test_units_are_forward_passes_over_the_local_data(made):
    plain, distilled = shown(made, "units").axes[0].lines
    assert plain.get_xdata()[-1] == 60 * 5
    assert distilled.get_xdata()[-1] == 60 * (5 + 1)


def test_units_need_epochs(refuses, tmp_path):
    plan = made_up(tmp_path, text=PAPER.replace("epochs: 5", "steps: 5"))
    with refuses("steps = 5, but x: units counts epochs"):
        shown((plan, Collected(history(plan.runs), tmp_path)), "units")


def test_curves_over_the_traffic_that_they_cost(refuses, tmp_path):
    plan = made_up(tmp_path, text=PAPER.replace("x: units", "x: megabytes"))
    frame = history(plan.runs)
    sent = frame.assign(megabytes=2.0 * frame["round"])  # 2 MB in each of 60 rounds
    axes = shown((plan, Collected(sent, tmp_path)), "units").axes[0]
    assert axes.lines[0].get_xdata()[[0, -1]].tolist() == [2, 120]
    assert axes.get_xlabel() == "Traffic (MB)"
    with refuses("x = 'megabytes', but no run has this column"):
        shown((plan, Collected(frame, tmp_path)), "units")


@pytest.mark.parametrize(("price", "named"), [(3, ["FedAvg", "FedAvg+ASD"]), (1, ["FedAvg+ASD"])])
def test_a_front_names_the_methods_that_no_other_beats_in_both(tmp_path, price, named):
    text = PAPER.replace("{curves: {x: units}}", "{pareto: {cost: megabytes, base: ''}}")
    plan = made_up(tmp_path, text=text)
    frame = history(plan.runs)
    asd = frame["run_id"].str.contains("asd")  # ends at a higher accuracy
    sent = frame.assign(megabytes=frame["round"].where(~asd, price * frame["round"]) * 2.0)
    axes = shown((plan, Collected(sent, tmp_path)), "units").axes[0]
    assert [text.get_text() for text in axes.texts] == named
    assert axes.lines[0].get_xdata().tolist() == [120.0]  # 2 MB in each of 60 rounds
    assert axes.get_xlabel() == "Traffic (MB)"


def test_the_lead_at_a_round_is_ours_over_the_best_other(made):
    means = {h.label: h.curves.mean(axis=1).loc[50] for h in panel_of(made, "marked").hues}
    ours = {name: means.pop(name) for name in ("FedADC", "FedADC+")}
    lead = max(ours.values()) - max(means.values())
    assert f"+{lead:.1f} at round 50" in texts(shown(made, "marked"))


def test_the_lead_in_a_loss_is_over_the_lowest(made):
    means = {h.label: h.curves.mean(axis=1).loc[50] for h in panel_of(made, "marked_loss").hues}
    ours = min(means.pop(name) for name in ("FedADC", "FedADC+"))
    lead = signed(ours - min(means.values()), 1)
    assert f"{lead} at round 50" in texts(shown(made, "marked_loss"))


def test_bars_of_what_no_run_reaches_say_so(made):
    frame = made[1].frame.assign(accuracy=0.0)
    assert "not reached" in texts(shown((made[0], Collected(frame, made[1].runs)), "unreached"))


def test_near_guessing_each_data_set_has_its_line(made):
    low = Collected(made[1].frame.assign(accuracy=0.012), made[1].runs)
    lines = shown((made[0], low), "of_two_sets").axes[0].lines
    dotted = {line.get_ydata()[0] for line in lines if line.get_linestyle() == ":"}
    assert dotted == {10.0, 1.0}  # percent, of ten and of a hundred equal classes


def test_a_level_is_a_point_on_a_line(made):
    figure = shown(made, "levels")
    line = figure.axes[0].lines[0]
    assert line.get_xdata().tolist() == [0.1, 0.2, 0.3, 0.4]
    rows = panel_of(made, "levels").hues[0].readings
    best = made[1].frame.groupby("run_id")["accuracy"].max()
    assert line.get_ydata()[0] == pytest.approx(100 * best[rows[rows["C"] == 0.1]["run"]].mean())
    assert figure.axes[0].get_ylabel() == "Test accuracy, best\n(%)"  # as high as the axes


def test_levels_must_be_numbers(refuses, made, tmp_path):
    text = PAPER.replace("{levels: {axis: C}}", "{levels: {axis: method}}")
    text = text.replace("    panels: [alpha]\n    metric: accuracy@best", "    panels: [alpha, C]")
    with refuses(r"'method': level 'Fed.*must be a number"):
        shown((made_up(tmp_path, text=text), made[1]), "levels")


def test_boxes_hold_a_value_for_each_client_and_round(made):
    axes = shown(made, "boxes").axes[0]
    steps = panel_of(made, "boxes").table("steps").query("step >= 0")
    medians = [line.get_ydata()[0] for line in axes.lines[4::6]]
    assert medians == pytest.approx(steps.groupby("step")["cosine"].median().tolist())


@pytest.mark.parametrize(
    ("options", "boxes", "first"),
    [
        ({"by": "round", "most": 2}, 2, [1.0, 3.0, 10.0, 20.0]),
        ({"by": "round"}, 4, [1.0, 3.0]),
        ({"by": "round", "per": "round"}, 4, [2.0]),
    ],
)
def test_boxes_join_neighbours_and_average_clients(options, boxes, first):
    kind = registry.build("figure", "boxes", {"column": "bias", **options})
    rows = {"round": [0, 0, 1, 1, 2, 3], "client": [0, 1, 0, 1, 0, 0], "seed": 0, "step": -1}
    table = pd.DataFrame(rows).assign(bias=[1.0, 3.0, 10.0, 20.0, 30.0, np.nan])
    found = kind._values(pd.concat([table, table.assign(round=9, bias=5.0)]))
    groups = {at: own["value"].tolist() for at, own in found.groupby("at")}
    assert len(groups) == boxes
    assert next(iter(groups.values()))[: len(first)] == first


def test_a_caption_ends_with_how_to_read_the_kind(made, tmp_path):
    text = PAPER.replace(
        "boxes: {title: Fig. 4 of R,", "boxes: {title: Fig. 4 of R, caption: Ours.,"
    )
    caption = draw_from(made_up(tmp_path, text=text), "boxes", made[1]).caption
    assert caption.startswith("Ours. Boxes are the quartiles")
    assert draw_from(made[0], "one", made[1]).caption == ""


def test_bars_start_at_zero_and_say_their_value(made):
    figure = shown(made, "bars")
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    assert np.diff(heights) == pytest.approx([3.3, 0.4, 0.4])
    assert f"{heights[0]:.1f}" in texts(figure)
    assert figure.axes[0].get_xticklabels()[0].get_text() == "Global model"


def test_a_bar_of_which_a_run_is_infinite_is_not_drawn_and_says_so(made):
    frame = made[1].frame.copy()
    run = min(panel_of(made, "bars").hues[1].planned)
    frame.loc[frame["run_id"] == run, "personal_none"] = np.inf
    figure = shown((made[0], Collected(frame, made[1].runs)), "bars")
    whole = shown(made, "bars")
    assert len(figure.axes[0].patches) == len(whole.axes[0].patches) - 1
    assert "not finite" in texts(figure)


def test_bars_in_groups(made):
    axes = shown(made, "grouped").axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["α = 1", "α = 0.5", "α = 0.1"]
    assert len(axes.patches) == 3 * 6


@pytest.mark.parametrize("axis", ["alpha", "method"])
def test_a_number_stands_above_the_middle_of_its_bar(made, axis):
    (panel,) = draw_from(made[0], "grouped", made[1]).panels
    kind = Bars(axis=axis)
    with mpl.rc_context(THEME):
        axes = MplFigure().subplots()
        kind.draw(axes, panel)
    middles = [bar.get_x() + bar.get_width() / 2 for bar in axes.patches]
    assert len(middles) == (3 * 6 if axis == "alpha" else 6)
    assert sorted(text.xy[0] for text in axes.texts) == pytest.approx(sorted(middles))


def test_bubbles_count_a_clients_classes(made):
    held = panel_of(made, "bubbles").hues[0].first("clients").query("count > 0")
    figure = shown(made, "bubbles")
    assert len(figure.axes) == 3
    axes = figure.axes[0]
    assert (axes.get_xlim(), axes.get_ylim()) == ((-0.5, 19.5), (-0.5, 9.5))
    (bubbles,) = axes.collections
    areas = dict(zip(map(tuple, bubbles.get_offsets().tolist()), bubbles.get_sizes(), strict=True))
    counts = {(row.client, row.label): row.count for row in held.itertuples()}
    assert areas.keys() == counts.keys()
    per_sample = [areas[at] / counts[at] for at in counts]
    assert per_sample == pytest.approx([per_sample[0]] * len(counts))


def test_an_embedding_has_a_panel_for_each_method_and_model(made):
    figure = shown(made, "embedding")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[0] == "FedAvg: Global model"
    assert titles[5] == "FedNTD: A client's model"
    assert sum(len(dots.get_offsets()) for dots in figure.axes[0].collections) == 600
    assert legend(figure) == [f"class {i}" for i in range(10)]
    written = [[text.get_text() for text in axes.texts] for axes in figure.axes]
    assert written == [["test accuracy 87.5 %"]] * 3 + [["test accuracy 25.0 %"]] * 3


def test_the_density_is_a_mean_over_seeds_on_both_grids():
    density = _mean(
        pd.DataFrame({
            "seed": [0, 0, 1, 1], "eigenvalue": [0.0, 2.0, 1.0, 2.0],
            "density": [2.0, 4.0, 5.0, 0.0],
        })
    )  # fmt: skip
    # (2 + 0)/2, (3 + 5)/2, (4 + 0)/2
    assert density.to_dict() == {0: 1.0, 1: 4.0, 2: 2.0}


def test_changes_are_in_points_and_ordered_by_the_clients_samples(made):
    figure = shown(made, "changes")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Client 3", "Client 8"]
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert labels[:3] == ["0\n210", "7\n150", "3\n90"]
    table = panel_of(made, "changes").hues[0].first("changes")
    row = table[(table["client"] == 3) & (table["label"] == 7)].iloc[0]
    bar = figure.axes[0].patches[1]
    assert bar.get_height() == pytest.approx(100 * (row["after"] - row["before"]))


def test_changes_of_runs_that_have_no_client_in_common_are_refused():
    tables = [pd.DataFrame({"round": [1], "client": [client]}) for client in (3, 8)]
    hues = [SimpleNamespace(first=lambda _, table=table: table) for table in tables]
    with pytest.raises(FedbenchError, match="no client trained in the last watched round of all"):
        Changes().parts([SimpleNamespace(hues=hues)])


def test_regions_show_every_model_and_all_points_with_the_global_one(made):
    figure = shown(made, "regions")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[:4] == ["FedAvg: User 1", "FedAvg: User 2", "FedAvg: User 3", "FedAvg: Global"]
    points = [sum(len(c.get_offsets()) for c in axes.collections[1:]) for axes in figure.axes[:4]]
    assert points == [40, 40, 40, 120]
    assert legend(figure) == [f"class {i}" for i in range(4)]


def test_weights_are_shares_and_rmfls_run_backwards():
    weights = registry.build("figure", "weights", {"beta": 0.5})._weights(3)
    assert weights["MFL"] == pytest.approx([1 / 7, 2 / 7, 4 / 7])
    # (1−β)β, (1−β)β², β³ = 1/4, 1/8, 1/8
    assert weights["RMFL"] == pytest.approx([0.5, 0.25, 0.25])
    # R2: ½, ¼, 1/8, over their sum 7/8
    other = registry.build("figure", "weights", {"beta": 0.5, "reading": "r2"})._weights(3)
    assert other["RMFL"] == pytest.approx([4 / 7, 2 / 7, 1 / 7])


def test_weights_are_drawn_at_each_number_of_steps(made, tmp_path):
    text = PAPER.replace("kind: weights}", "kind: {weights: {steps: [16, 6]}}}")
    figure = shown((made_up(tmp_path, text=text), made[1]), "weights")
    left = [axes for axes in figure.axes if axes.patches]
    assert [axes.get_title(loc="left") for axes in left] == ["H = 16", "H = 6"]
    assert [len(axes.patches) for axes in left] == [2 * 16, 2 * 6]
    lines = [axes.lines[0].get_xdata() for axes in figure.axes if axes.lines]
    assert [len(x) for x in lines] == [16, 6]  # the bias of the steps that are drawn


@given(st.floats(0.01, 0.99), st.integers(1, 40))
def test_all_shares_of_a_weighting_make_one(beta, steps):
    for shares in registry.build("figure", "weights", {"beta": beta})._weights(steps).values():
        assert shares.sum() == pytest.approx(1)
        assert (shares >= 0).all()


def test_the_bias_is_one_minus_the_mean_cosine(made):
    left, right = shown(made, "weights").axes
    steps = panel_of(made, "weights").table("steps").query("step == 4")
    assert right.lines[0].get_ydata()[4] == pytest.approx(1 - steps["cosine"].mean())
    assert len(left.patches) == 2 * 20


def test_the_bias_may_be_another_column_as_it_is(made):
    hue = panel_of(made, "weights").hues[0]
    bias = registry.build("figure", "weights", {"column": "projection"})._bias(hue)
    steps = hue.table("steps").query("step == 4")
    assert bias[4] == pytest.approx(steps["projection"].mean())


# Looks


@pytest.mark.parametrize("paper", ["fedadc", "feddpc", "rmfl", "fedgkd", "asd"])
def test_the_methods_of_a_paper_differ_in_colour_and_in_grey(paper):
    names = [name for name, found in compositions().items() if paper in found.papers]
    names = [name for name in names if name != "FedLS-NTD"]  # stands for FedNTD, never beside it
    looks = styles(names)
    assert len(set(looks.values())) == len(names)
    assert len({(s.line, s.marker, s.hollow) for s in looks.values()}) == len(names)


def test_a_variant_has_a_shade_of_its_methods_colour_and_another_line_and_marker():
    looks = styles(["MFL", "MFL, V scaled by 1−β", "MFL (again)", "FedDyn+ASD", "FedDyn+ASD (x)"])
    mfl, scaled, again, asd, uniform = looks.values()
    # #0173b2 has the luminance 0.16; of 0.42, 0.18 and 0.06 the first and the last are furthest
    assert (scaled.colour, again.colour) == ("#34b6fe", "#014b75")
    for family in ((mfl, scaled, again), (asd, uniform)):
        hues = [colorsys.rgb_to_hls(*mpl.colors.to_rgb(look.colour))[0] for look in family]
        assert hues == pytest.approx([hues[0]] * len(family), abs=0.01)
        for what in ("colour", "line", "marker"):
            assert len({getattr(look, what) for look in family}) == len(family)


def test_any_two_of_a_papers_variants_can_be_told_apart_in_grey():
    names = ["FedDPC", "FedDPC (projection only)", "Two-sided FedAvg"]
    looks = styles([*names, f"{names[1]}, step 1+λ", f"{names[2]}, step 1+λ"])
    assert len({(look.line, look.marker, look.hollow) for look in looks.values()}) == 5
    light = [round(luminance(look.colour), 2) for look in looks.values()]
    assert light == [0.04, 0.42, 0.22, 0.22, 0.06]  # in lines and markers the two of 0.22 differ


def test_markers_of_lines_that_run_together_stand_apart(made):
    lines = shown(made, "six").axes[0].lines
    # 60 rounds: a marker at every 7th; six lines begin at 0, 1, 2, 3, 4 and 5 sevenths or so
    assert [line.get_markevery() for line in lines] == [
        (start, 7) for start in (0, 1, 2, 3, 4, 5)
    ]  # fmt: skip


def test_a_label_that_is_longer_than_its_axes_is_broken(made):
    figure = shown(made, "boxes")
    label = figure.axes[0].yaxis.label
    label.set_text("The length of something along something else that is long")
    assert _broken_labels(figure)
    assert "\n" in label.get_text()
    assert label.get_window_extent().height <= figure.axes[0].bbox.height
    assert not _broken_labels(figure)


def test_numbers_on_both_sides_of_zero_are_blue_and_red():
    looks = styles([-2, -1, -0.5, 0, 0.5, 1, 2, 5])
    assert len({look.colour for look in looks.values()}) == 8
    rgb = {x: mpl.colors.to_rgb(look.colour) for x, look in looks.items()}
    assert all((rgb[x][2] > rgb[x][0]) == (x < 0) for x in rgb if x)  # more blue than red
    for side in ((-2, -1, -0.5), (5, 2, 1, 0.5)):
        light = [luminance(looks[x].colour) for x in side]
        assert light == sorted(light)  # the further from 0 the darker


def test_numbers_go_from_dark_to_light():
    looks = styles([10, 1, 0.5])
    light = [sum(mpl.colors.to_rgb(looks[x].colour)) for x in (0.5, 1, 10)]
    assert light == sorted(light)


def test_every_figure_has_its_numbers_and_whose_they_are(made):
    for key in made[0].papers["made"].figures:
        drawn = draw_from(made[0], key, made[1])
        rows = drawn.kind.numbers([panel for panel in drawn.panels if drawn.kind.has(panel)])
        if drawn.kind.__class__.__name__ != "Lead":  # it has columns of its own
            assert [*rows][:3] == ["panel", "hue", "metric"], key
            assert {*rows["hue"]} <= {hue.label for x in drawn.panels for hue in x.hues}, key
        assert len(rows) < 25_000, key
        assert not rows.empty, key


def test_boxes_have_their_quartiles_in_numbers(made):
    (key,) = [k for k, f in made[0].papers["made"].figures.items() if f.kind.name == "boxes"][:1]
    drawn = draw_from(made[0], key, made[1])
    hue = drawn.panels[0].hues[0]
    values = drawn.kind._values(hue.table("steps"))
    first = drawn.kind.rows(hue).iloc[0]
    of_first = values[values["at"] == first["at"]]["value"]
    assert first["50%"] == of_first.median()
    assert first["count"] == len(of_first)


@pytest.mark.parametrize(("work", "epochs"), [({"uniform": {"least": 1}}, 3), ("stragglers", 3.2)])
def test_units_count_the_work_that_clients_make(work, epochs):
    run = RunSpec(dataset="digits", epochs=5, work=work)  # stragglers: 0.1 · 5 + 0.9 · 3
    assert _passes_per_round(run) == pytest.approx(epochs)


def test_boxes_take_a_column_by_any_name_and_no_words(refuses, monkeypatch):
    monkeypatch.setattr(by_local_step, "_require_columns", lambda *_: None)  # of no probe of ours
    table = pd.DataFrame({"local step": [0, 1], "who": ["a", "b"], "value": [1.0, 2.0]})
    kind = registry.build("figure", "boxes", {"column": "value", "by": "local step"})
    assert kind._values(table)["at"].tolist() == [0, 1]
    with refuses("boxes: the column 'who' of steps has no numbers"):
        registry.build("figure", "boxes", {"column": "value", "by": "who"})._values(table)


def test_units_of_epochs_that_a_search_chooses_are_refused(refuses):
    run = RunSpec(dataset="digits", tune={"grid": {"epochs": [1, 2]}})
    with refuses("its search chooses the work that x: units counts"):
        _passes_per_round(run)


def test_evaluations_that_a_run_has_not_made_are_not_averaged():
    often, rarely = RunSpec(rounds=4), RunSpec(rounds=4, eval_every=2)
    curves = pd.DataFrame({often.id: [1.0, 2.0, 3.0, 4.0], rarely.id: [np.nan, 1.0, 1.0, 3.0]})
    cells = [SimpleNamespace(run_id=run.id, run=run) for run in (often, rarely)]
    hue = SimpleNamespace(curves=curves.set_axis([1, 2, 3, 4]), cells=cells)
    found = Curves(smooth=2)._smoothed(hue)
    assert found[often.id].tolist() == [1, 1.5, 2.5, 3.5]
    assert found[rarely.id].tolist()[1:] == [1, 1, 2]
