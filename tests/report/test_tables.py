"""Cells of a table from frames small enough to check by hand."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from fedbench.base.files import read_text, write_text
from fedbench.paper.grid_points import Substitution, expanded
from fedbench.paper.printed_numbers import check_printed, table_places
from fedbench.plan.plan import Plan, make_plan
from fedbench.report.tables.cells import Run, Status, TableCell, in_order
from fedbench.report.tables.export import (
    COLUMNS,
    CellText,
    TextTable,
    markdown,
    text_table,
    tidy,
    to_latex,
    to_markdown,
)
from fedbench.report.tables.gather_cells import _with_pooled, table_cells
from fedbench.report.tables.layout import arrange
from fedbench.report.template_words import say
from fedbench.report.values import collected_frames
from fedbench.report.values.numbers import fixed
from tests.project import Refuses
from tests.report.report_case import SMALL, case, frame_of, printed_of

CURVES = {0: [0.1, 0.5], 1: [0.8, 0.7], 2: [0.2, 0.6]}  # by seed; two rounds


def ended(*last: float) -> dict[int, list[float]]:
    """Curves of two rounds, by seed."""
    return {seed: [0.1, value] for seed, value in enumerate(last)}


def cells(plan: Plan, frame: pd.DataFrame, key: str = "t") -> dict[tuple[str, str], TableCell]:
    found = table_cells(plan, ("toy", key), frame, printed_of(("MNIST", "alpha=1", "A", 50.0, 2.0)))
    return {(e.place.dataset, e.place.method): e for e in found}


def listed(plan: Plan, *frames: pd.DataFrame) -> list[TableCell]:
    """All cells of table t in order; nothing is printed there."""
    return table_cells(plan, ("toy", "t"), pd.concat(frames), printed_of())


def of_methods(plan: Plan, curves: dict[str, dict[int, list[float]]]) -> pd.DataFrame:
    """MNIST: accuracy by method and seed."""
    return pd.concat(frame_of(plan, c, method=m) for m, c in curves.items())


def with_table(folder: Path, table: str) -> Plan:
    """The toy paper with another table t."""
    plan = case(folder)
    file = folder / "workflow/papers/toy.yaml"
    lines = read_text(file).splitlines()
    text = [f"  {table}" if line.startswith("  t:") else line for line in lines]
    write_text(file, "\n".join(text))
    return make_plan(folder / "workflow", plan.scale)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return case(tmp_path)


def test_mean_and_sample_deviation_of_the_last_round(plan: Plan) -> None:
    cell = cells(plan, frame_of(plan, CURVES))["MNIST", "A"]
    assert cell.measured.mean == pytest.approx(60)  # 50, 70, 60
    assert cell.measured.std == pytest.approx(10)
    assert cell.difference == pytest.approx(10)


@pytest.mark.parametrize(("key", "mean"), [("best", (50 + 80 + 60) / 3), ("first", 110 / 3)])
def test_best_and_a_given_round(plan: Plan, key: str, mean: float) -> None:
    cell = cells(plan, frame_of(plan, CURVES), key)["MNIST", "A"]
    assert cell.measured.mean == pytest.approx(mean)


def test_one_seed_has_no_deviation(plan: Plan) -> None:
    cell = cells(plan, frame_of(plan, {0: [0.1, 0.5]}))["MNIST", "A"]
    assert (cell.measured.mean, cell.measured.std) == (50, None)


def test_missing_runs_are_named(plan: Plan) -> None:
    found = cells(plan, frame_of(plan, {0: [0.1, 0.5], 2: [0.2, 0.7]}))
    cell = found["MNIST", "A"]
    assert [run.seed for run in cell.measured_runs] == [0, 2]
    assert [(run.seed, run.status) for run in cell.missing] == [(1, Status.MISSING)]
    assert cell.missing[0].id in plan.runs
    nothing = cells(plan, frame_of(plan, {}))["MNIST", "A"]
    assert nothing.measured is None
    assert len(nothing.missing) == 3
    assert (cell.awaited, nothing.awaited) == (False, True)


def test_a_number_that_a_finished_run_does_not_have_is_not_awaited(plan: Plan) -> None:
    """Accuracy at round 2 of runs that were never scored there; two seeds are not finished."""
    frame = frame_of(plan, {0: [0.1, 0.5]}).assign(accuracy=float("nan"))
    cell = cells(plan, frame)["MNIST", "A"]
    assert [run.status for run in cell.runs] == [
        Status.NO_NUMBER, Status.MISSING, Status.MISSING,
    ]  # fmt: skip
    assert (cell.measured, cell.awaited) == (None, False)


def test_a_diverged_run_counts_with_its_last_row(plan: Plan) -> None:
    cell = cells(plan, frame_of(plan, CURVES | {1: [0.1]}))["MNIST", "A"]
    assert cell.measured.mean == pytest.approx(40)  # 50, 10, 60
    assert cell.diverged == 1
    lost = cell.measured_runs[1]
    assert (lost.status, lost.end) == (Status.DIVERGED, 1)


def test_a_diverged_run_has_no_number_of_what_it_never_measures(tmp_path: Path) -> None:
    file = tmp_path / "workflow/papers/toy.yaml"
    case(tmp_path)
    text = read_text(file).replace("A: {parts: []}", "A: {parts: [], validation: 0.2}")
    write_text(file, text.replace("title: Table 1,", "title: Table 1, metrics: [val_accuracy],", 1))
    plan = make_plan(tmp_path / "workflow", "full")
    frames = [frame_of(plan, CURVES).assign(val_accuracy=0.5)]
    frames += [frame_of(plan, {0: [0.1]}, method="<b>").assign(val_accuracy=float("nan"))]
    found = cells(plan, pd.concat(frames))
    assert found["MNIST", "<b>"].runs[0].status == Status.NO_NUMBER
    assert found["MNIST", "<b>"].measured is None
    assert not found["MNIST", "A"].best  # nobody else measures it


def test_differences_of_scores_say_that_they_are_points(plan: Plan) -> None:
    layout = arrange(
        plan.papers["toy"].tables["t"], [*cells(plan, frame_of(plan, CURVES)).values()]
    )
    titles = [block.title for block in layout.blocks]
    assert titles == [
        "Printed in the paper",
        "Measured here",
        "Difference in points",
        "Controls, measured here",
    ]


def test_a_loss_that_is_not_finite_is_not_averaged_away(plan: Plan) -> None:
    frame = frame_of(plan, CURVES | {1: [float("nan")]})
    cell = cells(plan, frame)["MNIST", "A"]
    assert cell.measured.mean != cell.measured.mean
    assert not cell.best


def test_no_difference_where_anything_is_substituted(tmp_path: Path) -> None:
    plan = case(tmp_path, SMALL)
    cell = cells(plan, frame_of(plan, CURVES))["MNIST", "A"]
    assert cell.printed is not None
    assert cell.measured is not None
    assert cell.difference is None
    assert Substitution("dataset", "digits", "mnist") in cell.substituted
    layout = arrange(plan.papers["toy"].tables["t"], list(cells(plan, frame_of(plan, {})).values()))
    assert "difference" not in [block.kind for block in layout.blocks]


def test_best_is_bold_among_the_papers_methods_only(plan: Plan) -> None:
    curves = {"A": {0: [0.5]}, "<b>": {0: [0.6]}, "control_%": {0: [0.9]}}
    found = cells(plan, of_methods(plan, curves))
    assert [found["MNIST", m].best for m in curves] == [False, True, False]


def test_none_is_best_while_a_method_lacks_a_run_that_another_has(plan: Plan) -> None:
    first = frame_of(plan, {0: [0.5]})
    assert not cells(plan, first)["MNIST", "A"].best
    other = pd.concat([first, frame_of(plan, {2: [0.4]}, method="<b>")])
    assert not cells(plan, other)["MNIST", "A"].best  # seed 0 against seed 2
    both = pd.concat([first, frame_of(plan, {0: [0.4]}, method="<b>")])
    assert cells(plan, both)["MNIST", "A"].best  # controls need not be there


@pytest.mark.parametrize(("accuracy", "best"), [(0.163, False), (0.164, True)])
def test_near_chance_none_is_marked(plan: Plan, accuracy: float, best: bool) -> None:
    frame = of_methods(plan, {"A": {0: [0.1]}, "<b>": {0: [accuracy]}})
    assert cells(plan, frame)["MNIST", "<b>"].best == best  # guessing 1 gives 11.35 %


def test_where_most_tie_none_is_marked(plan: Plan) -> None:
    frame = of_methods(plan, {"A": {0: [0.5]}, "<b>": {0: [0.50001]}})  # 50.00 and 50.00
    assert not any(entry.best for entry in cells(plan, frame).values())


def test_a_round_after_the_last_has_no_number(plan: Plan) -> None:
    table = plan.papers["toy"].tables["t"]
    plan.papers["toy"].tables["t"] = table.model_copy(update={"metrics": ("accuracy@3",)})
    cell = listed(plan, frame_of(plan, CURVES))[0]
    assert (cell.measured, cell.missing) == (None, ())
    assert {(run.status, run.end) for run in cell.runs} == {(Status.TOO_SHORT, 2)}


def test_what_was_chosen_near_chance_is_compared_with_nothing(plan: Plan) -> None:
    both = [frame_of(plan, CURVES), frame_of(plan, {s: [0.1, 0.2] for s in CURVES}, method="<b>")]
    printed = printed_of(("MNIST", "alpha=1", "A", 50.0, 2.0))

    def of(*near: str) -> dict[str, TableCell]:
        found = table_cells(plan, ("toy", "t"), pd.concat(both), printed, frozenset(near))
        return {e.place.method: e for e in found if e.place.dataset == "MNIST"}

    assert of()["A"].best
    assert of()["A"].difference == pytest.approx(10)
    alone = of(of()["<b>"].runs[0].id)  # of a rival: its settings are as good as random
    assert not alone["A"].best
    assert alone["A"].difference == pytest.approx(10)
    near = of(of()["A"].runs[0].id)
    assert not near["A"].best
    assert near["A"].difference is None
    assert list(tidy("toy", list(near.values()), {})["chosen_near_chance"]) == [1, 0, 0]
    table = plan.papers["toy"].tables["t"]
    text = to_markdown(text_table(table, arrange(table, list(near.values())), ""))
    assert "60.00 ± 10.00 (chosen near chance)" in text


@pytest.mark.parametrize(("name", "best"), [("update_variance", "A"), ("angle_mean", None)])
def test_less_variance_is_better_and_no_angle_is(plan: Plan, name: str, best: str | None) -> None:
    both = [frame_of(plan, {0: [1, 2]}), frame_of(plan, {0: [1, 3]}, method="<b>")]
    frame = pd.concat(both).rename(columns={"accuracy": name})
    table = plan.papers["toy"].tables["t"]
    plan.papers["toy"].tables["t"] = table.model_copy(update={"metrics": (name,)})
    found = listed(plan, frame)
    assert [e.place.method for e in found if e.best] == ([best] if best else [])


def test_csv_columns_and_the_runs_measured(plan: Plan) -> None:
    found = cells(plan, frame_of(plan, {0: [0.5], 2: [0.7]}))
    table = tidy("toy", list(found.values()), {})
    assert ",".join(table.columns) == (
        "paper,table,dataset,setting,method,metric,printed_mean,printed_std,measured_mean,"
        "measured_std,pooled_std,pooled_freedom,n_seeds,n_diverged,n_planned,"
        "chosen_near_chance,run_ids,substituted,data_note"
    )
    assert tuple(table.columns) == COLUMNS
    first = table.iloc[0]
    assert list(first[:8]) == ["toy", "t", "MNIST", "alpha=1", "A", "accuracy", 50.0, 2.0]
    assert first["n_seeds"] == 2
    assert first["run_ids"].split(";") == [run.id for run in found["MNIST", "A"].measured_runs]
    notes = dict.fromkeys(first["run_ids"].split(";"), "Deviation in mnist: seven images.")
    noted = tidy("toy", list(found.values()), notes)["data_note"]
    assert noted.iloc[0] == "Deviation in mnist: seven images."  # once for both runs
    assert noted.iloc[1] == ""


def test_csv_says_how_many_seeds_diverged_of_those_measured_and_planned(plan: Plan) -> None:
    # of three seeds the first ended well, the second after one round of two, the third is missing
    cell = cells(plan, frame_of(plan, {0: [0.1, 0.5], 1: [0.1]}))["MNIST", "A"]
    row = tidy("toy", [cell], {}).iloc[0]
    assert (row["n_seeds"], row["n_diverged"], row["n_planned"]) == (2, 1, 3)


def test_the_deviation_over_seeds_is_pooled_over_the_methods(tmp_path: Path) -> None:
    plan = with_table(tmp_path, "t: {title: T, grid: main, rows: [dataset, alpha]}")
    # A: 50, 60, 70 with s² = 100 and 2 degrees of freedom; <b>: 40, 80 with s² = 800 and 1
    a, b = ended(0.5, 0.6, 0.7), ended(0.4, 0.8)
    other = ended(0.1, 0.2)  # of another setting, in which no other method has two seeds
    frames = [frame_of(plan, a), frame_of(plan, b, method="<b>"), frame_of(plan, other, alpha=0.1)]
    found = listed(plan, *frames)
    by_place = {(e.coords["dataset"], e.coords["alpha"], e.place.method): e.pooled for e in found}
    pooled = by_place["MNIST", 1, "A"]
    assert pooled == by_place["MNIST", 1, "<b>"]
    assert (pooled.std, pooled.freedom, pooled.cells) == (pytest.approx((1000 / 3) ** 0.5), 3, 2)
    assert by_place["MNIST", 0.1, "A"] is None
    table = plan.papers["toy"].tables["t"]
    layout = arrange(table, found)
    assert layout.pooled == ("MNIST, α = 1: ± 18.26 (3)",)
    words = (
        "Standard deviation over seeds, pooled over the cells without a diverged run "
        "(degrees of freedom): MNIST, α = 1: "
    )
    texts = text_table(table, layout, "")
    assert f"{words}± 18.26 (3)." in to_markdown(texts).splitlines()
    assert words in to_latex(texts, "t").replace(r"\ensuremath{\alpha}", "α")
    assert tidy("toy", found, {})["pooled_std"].dropna().tolist() == [pooled.std] * 2


def test_a_cell_with_a_diverged_run_is_not_pooled(tmp_path: Path) -> None:
    plan = with_table(tmp_path, "t: {title: T, grid: main, rows: [dataset, alpha]}")
    # A: 50 and 60, s² = 50; <b>: 40 and 46, s² = 18; the control's seed 1 ends at 10 of 60
    lost = {0: [0.1, 0.6], 1: [0.1]}
    curves = {"A": ended(0.5, 0.6), "<b>": ended(0.4, 0.46), "control_%": lost}
    frame = of_methods(plan, curves)
    found = listed(plan, frame)
    pooled = {e.place.method: e.pooled for e in found if e.measured}
    assert (pooled["A"].std, pooled["A"].cells) == (pytest.approx(34**0.5), 2)
    assert pooled["control_%"] is None


def test_what_is_behind_all_numbers_alike_is_said_once(tmp_path: Path) -> None:
    where = "where: {dataset: MNIST, alpha: 1, method: [A, <b>]}"
    plan = with_table(tmp_path, f"t: {{title: T, grid: main, {where}, rows: [dataset, alpha]}}")
    three = {0: [0.5], 1: [0.6], 2: [0.7]}
    frame = of_methods(plan, {"A": three, "<b>": three})
    found = listed(plan, frame)
    assert say("tables.each", found) == "3 seeds"
    fewer = frame[frame["run_id"] != found[0].runs[2].id]  # one seed of A is missing
    assert say("tables.each", listed(plan, fewer)) == ""


def test_with_one_method_the_cells_of_a_data_set_are_pooled(tmp_path: Path) -> None:
    plan = with_table(
        tmp_path, "t: {title: T, grid: main, where: {method: A}, rows: [dataset, alpha]}"
    )
    # α = 1: s² = 200; α = 0.1: s² = 800, both with 1 degree of freedom
    there = [frame_of(plan, ended(0.4, 0.6)), frame_of(plan, ended(0.4, 0.8), alpha=0.1)]
    found = listed(plan, *there)
    pooled = {e.coords["dataset"]: e.pooled for e in found}
    assert (pooled["MNIST"].std, pooled["MNIST"].freedom) == (pytest.approx(500**0.5), 2)
    assert [p for d, p in pooled.items() if d != "MNIST"] == [None]


def test_a_printed_number_without_a_cell_is_refused(refuses: Refuses, plan: Plan) -> None:
    stray = printed_of(("MNIST", "alpha=7", "A", 50.0, 2.0))
    paper = plan.asked["toy"]
    with refuses(r"t has no setting 'alpha=7'; did you mean 'alpha="):
        check_printed(stray, paper, table_places(paper, expanded(Path("toy.yaml"), paper)))


def test_curves_keep_a_diverged_runs_last_value(plan: Plan) -> None:
    runs = [cell.run for cell in plan.select("toy", "main", {"dataset": "MNIST", "alpha": 1})]
    own = [run for run in runs if not run.parts]
    table = collected_frames.curves(frame_of(plan, {0: [0.4, 0.6], 1: [0.2]}), "accuracy", own)
    assert list(table.index) == [1, 2]
    assert list(table.mean(axis=1)) == pytest.approx([0.3, 0.4])


def test_what_a_search_chose_is_shown(plan: Plan) -> None:
    how = "the best of 4 by the last accuracy on the test set"
    frame = frame_of(plan, {0: [0.5]}).assign(tuned='{"lr": 0.03}', search=how)
    assert cells(plan, frame)["MNIST", "A"].measured_runs[0].tuned == f"lr=0.03, {how}"


def test_axes_that_count_as_repeats(tmp_path: Path) -> None:
    rest = "where: {dataset: MNIST}, over: [alpha], rows: [method], columns: []"
    plan = with_table(tmp_path, f"t: {{title: Table 1, grid: main, {rest}}}")
    frame = pd.concat(
        [frame_of(plan, CURVES), frame_of(plan, {0: [0.1, 0.9], 1: [0.1, 0.9]}, alpha=0.1)]
    )
    cell = {e.place.method: e for e in listed(plan, frame)}["A"]
    assert (cell.place.setting, cell.coords) == (
        "",
        {"dataset": "MNIST", "method": "A", "metric": "accuracy"},
    )
    assert cell.measured.mean == pytest.approx((50 + 70 + 60 + 90 + 90) / 5)
    assert len(cell.missing) == 1
    assert [run.name for run in cell.runs[2:4]] == ["α = 1, seed 2", "α = 0.1, seed 0"]
    assert tidy("toy", [cell], {})["n_seeds"].tolist() == [2]  # with both α


def test_what_is_averaged_over_names_no_cell(tmp_path: Path) -> None:
    rest = "where: {alpha: 1}, over: [method, dataset], rows: [], columns: []"
    plan = with_table(tmp_path, f"t: {{title: Table 1, grid: main, {rest}}}")
    (cell,) = listed(plan, frame_of(plan, CURVES))
    assert (cell.place.method, cell.place.dataset) == ("", "")


GAIN = (
    "t: {title: Gain, grid: main, where: {dataset: MNIST, method: <b>}, "
    "minus: {method: A}, rows: [alpha]}"
)


def test_a_gain_is_the_difference_of_the_same_seed(tmp_path: Path) -> None:
    plan = with_table(tmp_path, GAIN)
    ours = frame_of(plan, {0: [0.1, 0.6], 1: [0.1, 0.9], 2: [0.1, 0.7]}, method="<b>")
    found = listed(plan, frame_of(plan, CURVES), ours)
    cell = next(e for e in found if e.coords["alpha"] == 1)
    assert [run.value for run in cell.runs] == [
        pytest.approx(10),
        pytest.approx(20),
        pytest.approx(10),
    ]
    assert cell.measured.std == pytest.approx((100 / 3) ** 0.5)


def test_a_gain_needs_both_runs(tmp_path: Path) -> None:
    plan = with_table(tmp_path, GAIN)
    ours = frame_of(plan, {0: [0.1, 0.6]}, method="<b>")
    found = listed(plan, ours)
    assert all(entry.measured is None for entry in found)


def test_nothing_is_subtracted_from_a_target_that_was_never_reached(tmp_path: Path) -> None:
    plan = with_table(tmp_path, GAIN.replace("{method: A}", "{method: A}, metrics: [round@to:0.5]"))
    ours = frame_of(plan, {0: [0.1, 0.6], 1: [0.6, 0.9]}, method="<b>")
    theirs = frame_of(plan, {0: [0.1, 0.2], 1: [0.1, 0.7]})  # A: never, and in round 2
    found = listed(plan, theirs, ours)
    cell = next(e for e in found if e.coords["alpha"] == 1)
    assert [run.value for run in cell.runs] == [None, -1.0, None]
    assert [run.status for run in cell.runs] == [
        Status.NO_NUMBER, Status.FINISHED, Status.MISSING,
    ]  # fmt: skip


def test_a_method_under_two_names_is_pooled_once(tmp_path: Path) -> None:
    plan = with_table(tmp_path, "t: {title: T, grid: main, where: {alpha: 1}, rows: [dataset]}")
    both = [
        frame_of(plan, ended(0.4, 0.5, 0.6)),
        frame_of(plan, ended(0.1, 0.3, 0.5), method="<b>"),
    ]
    found = listed(plan, *both)
    a, b, *_ = (cell for cell in found if cell.place.dataset == "MNIST")
    again = _with_pooled([a, replace(a, place=replace(a.place, method="A again")), b], {})
    assert [cell.pooled and cell.pooled.freedom for cell in again] == [4, 4, 4]  # not 6
    # what is subtracted from the others has no deviation of its own
    assert [cell.pooled for cell in _with_pooled([a, b], {"method": "A"})] == [None, None]


def test_a_gain_over_what_is_not_planned_is_refused(refuses: Refuses, tmp_path: Path) -> None:
    with refuses(r"tables\.t\.minus\.method: no level 'Z'"):
        with_table(tmp_path, GAIN.replace("{method: A}", "{method: Z}"))


def test_a_wide_table_holds_printed_numbers_within_its_measured_cells(plan: Plan) -> None:
    table = plan.papers["toy"].tables["t"]
    found = list(cells(plan, frame_of(plan, CURVES)).values())
    narrow = arrange(table, found)
    assert [block.kind for block in narrow.in_page] == [block.kind for block in narrow.blocks]
    many = [
        {(i, *x): name for i in range(5) for x, name in b.columns.items()} for b in narrow.blocks
    ]
    blocks = zip(narrow.blocks, many, strict=True)
    wide = replace(narrow, blocks=tuple(b._replace(columns=names) for b, names in blocks))
    assert [block.kind for block in wide.in_page] == ["measured", "controls"]


def test_markdown_says_what_latex_says(plan: Plan) -> None:
    found = table_cells(
        plan,
        ("toy", "t"),
        frame_of(plan, {0: [0.1, 0.5], 1: [0.8]}),
        printed_of(("MNIST", "alpha=1", "A", 50.0, 2.0)),
    )
    table = plan.papers["toy"].tables["t"]
    texts = text_table(table, arrange(table, found), "What | is <shown>.")
    lines = to_markdown(texts).splitlines()
    cells = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if " | " in line
    ]
    assert cells[0][:2] == ["α", "Printed in the paper: A"]
    assert cells[1][0] == r"**MNIST**"
    assert cells[2][:3] == ["1", "50.00 ± 2.00", "65.00 ± 21.21 (2/3 seeds, 1 diverged)"]
    assert lines[-1] == r"What \| is \<shown\>."


TEXTS = TextTable(
    [("", "α"), ("Here", "A_1"), ("Here", "B")],
    1,
    [
        [CellText("D & E", bold=True)],
        [CellText("1"), CellText("2.0", "0.1", True, ("(1)",)), CellText("")],
    ],
    "What.",
    ["(1) & more."],
)


def test_latex_has_groups_of_columns_the_best_in_bold_and_the_spread() -> None:
    lines = to_latex(TEXTS, "p-t").splitlines()
    assert r"\caption{What. (1) \& more.}" in lines
    assert r"\begin{tabular}{lrr}" in lines
    start, end = lines.index(r"\toprule"), lines.index(r"\bottomrule")
    assert [line.strip() for line in lines[start + 1 : end]] == [
        r"& \multicolumn{2}{c}{Here} \\",
        r"\ensuremath{\alpha} & A\_1 & B \\",
        r"\midrule",
        r"\textbf{D \& E} &  &  \\",
        r"1 & \textbf{2.0} $\pm$ 0.1\textsuperscript{(1)} &  \\",
    ]


def test_a_table_without_rows_has_its_columns() -> None:
    empty = TEXTS._replace(rows=[])
    assert r"A\_1 & B \\" in to_latex(empty, "p-t")
    assert r"Here: A\_1" in to_markdown(empty)


def test_markdown_shows_every_character() -> None:
    assert markdown("a|b *c* <d> `e` _f_ [g]") == r"a\|b \*c\* \<d\> \`e\` \_f\_ \[g\]"


def test_rounds_to_a_target_and_a_method_of_which_a_run_never_reaches_it(tmp_path: Path) -> None:
    row = "rows: [dataset, alpha], controls: [control_%], metrics: ['round@to:0.5']"
    plan = with_table(tmp_path, f"t: {{title: T, grid: main, where: {{alpha: 1}}, {row}}}")
    slow = frame_of(plan, {0: [0.5, 0.5], 1: [0.5, 0.5], 2: [0.1, 0.4]}, method="<b>")
    found = cells(plan, pd.concat([frame_of(plan, CURVES), slow]))
    one, other = found["MNIST", "A"], found["MNIST", "<b>"]
    assert one.measured.mean == pytest.approx(5 / 3)  # at rounds 2, 1 and 2
    assert [run.value for run in other.runs] == [1, 1, float("inf")]
    assert fixed(other.measured.mean, 1) == "not reached"
    assert [one.best, other.best] == [True, False]


def test_a_score_at_a_target_that_is_not_reached_is_the_worst(tmp_path: Path) -> None:
    row = "rows: [dataset, alpha], controls: [control_%], metrics: ['accuracy@to:0.5']"
    plan = with_table(tmp_path, f"t: {{title: T, grid: main, where: {{alpha: 1}}, {row}}}")
    never = frame_of(plan, {seed: [0.1, 0.4] for seed in range(3)}, method="<b>")
    found = cells(plan, pd.concat([frame_of(plan, CURVES), never]))
    assert [found["MNIST", name].best for name in ("A", "<b>")] == [True, False]


def test_groups_of_one_metric_each_are_ordered_by_their_own(tmp_path: Path) -> None:
    row = "rows: [metric, method], columns: [dataset], metrics: [accuracy, loss], order: best first"
    where = "{alpha: 1, dataset: MNIST, method: [A, <b>]}"
    plan = with_table(tmp_path, f"t: {{title: T, grid: main, where: {where}, {row}}}")
    good = frame_of(plan, {seed: [0.1, 0.7] for seed in range(3)}, method="<b>").assign(loss=2.0)
    frame = pd.concat([frame_of(plan, CURVES).assign(loss=1.0), good])
    found = listed(plan, frame)
    layout = arrange(plan.papers["toy"].tables["t"], found)
    names = [[row.heads[0][0] for row in group.rows] for group in layout.groups]
    assert names == [["<b>", "A"], ["A", "<b>"]]  # the higher accuracy, the lower loss


def test_a_leaderboard_lists_the_best_method_first(tmp_path: Path) -> None:
    row = "rows: [dataset, method], columns: [metric], order: best first"
    plan = with_table(tmp_path, f"t: {{title: T, grid: main, where: {{alpha: 1}}, {row}}}")
    good = frame_of(plan, {seed: [0.1, 0.7] for seed in range(3)}, method="<b>")
    frame = pd.concat([frame_of(plan, CURVES), good])  # A has 60 %
    found = listed(plan, frame)
    table = plan.papers["toy"].tables["t"]
    layout = arrange(table, found)
    names = {group.title: [row.heads[0][0] for row in group.rows] for group in layout.groups}
    assert names == {"MNIST": ["<b>", "A"]}
    assert layout.absent == ("MNIST: control_%", "Digits: all 3")
    words = "Not listed, because no run is finished: MNIST: control_%; Digits: all 3."
    assert markdown(words) in to_markdown(text_table(table, layout, "")).splitlines()


def test_a_method_that_lacks_a_setting_comes_after_those_with_all(tmp_path: Path) -> None:
    where, row = (
        "{dataset: MNIST, method: [A, <b>]}",
        "rows: [method], columns: [alpha], order: best first",
    )
    plan = with_table(tmp_path, f"t: {{title: T, grid: main, where: {where}, {row}}}")
    table = plan.papers["toy"].tables["t"]
    good = {seed: [0.1, 0.7] for seed in range(3)}
    frames = [frame_of(plan, CURVES, alpha=alpha) for alpha in (1, 0.1)]  # 60 %
    frames += [frame_of(plan, good, "<b>", alpha) for alpha in (1, 0.1)]
    whole = listed(plan, pd.concat(frames))
    part = [x for x in whole if (x.coords["alpha"], x.coords["method"]) != (1, "<b>")]
    orders = [[x.coords["method"] for x in in_order(table, cells)] for cells in (whole, part)]
    assert orders == [["<b>", "<b>", "A", "A"], ["A", "A", "<b>"]]


@pytest.mark.parametrize("status", Status)
def test_what_is_known_of_a_run_is_said_with_its_round(status: Status) -> None:
    said = say("scale.run", Run("id", 0, status, None, end=7))
    assert said
    assert ("7" in said) == (status in (Status.DIVERGED, Status.TOO_SHORT))
