"""The papers as they are in workflow/: their tables and figures, and a plan for each of them."""

from pathlib import Path

import pytest

from fedbench.paper.printed_numbers import read_printed
from fedbench.report.figures.drawing import drawing
from fedbench.report.tables.gather_cells import table_cells
from fedbench.report.values import collected_frames
from fedbench.report.values.collected_frames import Collected
from tests.paper.published import WORKFLOW, papers, plan

SCALES = ("demo", "paper")
NOTHING = Collected(collected_frames.read(Path("no such file")), Path("no such folder"))
# The published papers: the numbers of their tables (facts among them) and of their figures with
# data. A paper that is not among them goes through all other tests.
ITEMS = {
    "fedadc": ("1", "1a 1b 1c 2 3 4 5a 5b 6 7"),
    "feddpc": ("1 2", "3 4 5 6 7"),
    "rmfl": ("1", " ".join(str(n) for n in range(3, 28))),
    "fedgkd": ("1 2 3 4 5 6 7 8 9", "2 3top 3bottom 4 5"),
    "asd": (" ".join(str(n) for n in range(1, 15)), "1 3 4 5 6 7 8 9 10 11 12"),
}
# Those that the paper does not number: numbers in its text, controls, what its text claims.
OWN = {
    "fedadc": {
        *("table1_best", "fig7_gains", "coverage", "coverage_gain", "coverage_sweep"),
        *("momentum", "weights", "traffic"),
    },
    "feddpc": {
        *("table2_rounds", "table2_seconds", "table2_seeds", "stability", "fedexp", "variance"),
        *("scalings", "fig6_controls", "fig7_scalings"),
    },
    "rmfl": {
        *(
            "weights",
            "table1_last10",
            "table1_alldata",
            "drift_rates",
            "momentum_rates",
            "drift_epochs",
            "fig3_table1",
        ),
        *("fig4_rounds", "fig4_momentum", "fig5_rounds", "fig5_momentum"),
    },
    "fedgkd": {"fig2numbers", "silhouettes", "traffic"},
    "asd": {"fig11numbers", "similarity", "passes"}
    | {"table1_cifar10", "table13_probed", "similarity_cifar10"},
}
PAPERS = sorted(file.stem for file in (WORKFLOW / "papers").glob("*.yaml"))
PRINTED = sorted(file.name.partition(".")[0] for file in (WORKFLOW / "papers").glob("*.csv"))
names = pytest.mark.parametrize("paper", PAPERS)
scales = pytest.mark.parametrize("scale", SCALES)


@pytest.mark.parametrize("paper", ITEMS)
def test_the_paper_has_its_tables_and_figures(paper: str) -> None:
    found = papers()[paper]
    tables, figures = ITEMS[paper]
    wanted = {f"table{n}" for n in tables.split()} | {f"fig{n}" for n in figures.split()}
    assert {*found.tables, *found.facts, *found.figures} == wanted | OWN[paper]


@scales
@names
def test_every_run_of_a_table_or_figure_is_planned(paper: str, scale: str) -> None:
    made = plan(scale)
    for key, item in made.papers[paper].items():
        cells = made.select(paper, item.grid, item.where)
        assert cells, key
        assert set(made.needed(cells)) <= set(made.runs)


@scales
@pytest.mark.parametrize("paper", PRINTED)
def test_every_printed_number_is_a_cell_that_the_paper_has(paper: str, scale: str) -> None:
    made, printed = plan(scale), read_printed(WORKFLOW / f"papers/{paper}.printed.csv")
    tables = made.papers[paper].tables
    found = [e for key in tables for e in table_cells(made, (paper, key), NOTHING.frame, printed)]
    shown = {entry.place: entry for entry in found if entry.printed}.values()
    facts = [place for place in printed.numbers if place.table in made.papers[paper].facts]
    everywhere = len(shown) + len(facts) == len(printed.numbers)
    assert everywhere or (shown and made.left_out[paper].levels)  # levels that the scale leaves out
    assert not [entry.place for entry in shown if entry.control]
    assert not [entry for entry in found if entry.control and entry.place.method == ""]


@scales
@names
def test_every_figure_can_be_laid_out(paper: str, scale: str) -> None:
    made = plan(scale)
    for key, figure in made.papers[paper].figures.items():
        drawn = drawing(made, (paper, key), NOTHING)
        shown = [hue for panel in drawn.panels for hue in panel.hues]
        for panel in drawn.panels:
            entries = drawn.kind.legend(drawn.panels)  # None: the hues; a part, some have no name
            told_apart = entries is None or len(entries) >= len(panel.hues)
            styles = {hue.style for hue in panel.hues}
            assert not told_apart or len(styles) == len(panel.hues), (key, panel.title)
        assert {cell.run_id for hue in shown for cell in hue.cells} == {
            cell.run_id for cell in made.select(paper, figure.grid, figure.where)
        }


def test_the_demonstration_tests_no_claim_of_a_paper() -> None:
    untouched = [
        cell for cell in plan("demo").cells if cell.paper in ITEMS and not cell.substituted
    ]
    assert not untouched


def test_nothing_is_substituted_at_paper_scale() -> None:
    assert not any(cell.substituted for cell in plan("paper").cells)
