"""The command `compare`: where two folders of results differ by more than seeds do."""

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbench.base.errors import FedbenchError
from fedbench.base.files import exists, matching
from fedbench.base.yamlfile import split
from fedbench.cli import options
from fedbench.cli.app import Panel, app, console, print_json, print_line, table_of

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    from fedbench.report.compare import Compared, Side

_FOLDER = "The folder of a scale below a results folder, such as results/demo."


@app.command(rich_help_panel=Panel.papers)
def compare(
    one: Annotated[Path, typer.Argument(help=_FOLDER)],
    other: Annotated[Path, typer.Argument(help="Another such folder.")],
    papers: options.Papers = "",
    as_json: options.AsJson = False,
    workflow: options.Workflow = options.WORKFLOW,
) -> None:
    """Check whether two folders of results agree up to the noise of seeds.

    Methods are compared by `fedbench bench`, and the curves of two by `fedbench show`.

    Cells are joined by their place in a paper's tables. Each is tested with Welch's t-test on the
    seeds; of those that are called different at most 5 % are expected to be false alarms.
    """
    from fedbench.report.compare import compare as joined

    names = split(papers)
    compared = joined(_side(one, names, workflow), _side(other, names, workflow))
    if compared.cells.empty:
        raise FedbenchError(f"{one} and {other}: no cell of a table was measured in both")
    if as_json:
        print_json(_facts(compared))
        return
    if compared.cells["apart"].any():
        console.print(table_of(_apart(compared, one, other)))
    print_line(_counts(compared, one, other))


def _side(folder: Path, papers: tuple[str, ...], workflow: Path) -> "Side":
    """The folder's plan, of the papers asked for or else of those that were collected there."""
    from fedbench.base.plugins import files_by_name
    from fedbench.plan.plan import make_plan
    from fedbench.report.compare import Side
    from fedbench.spec.compositions import every_method

    collected = [file.stem for file in matching(folder, "*.parquet")]
    if not matching(folder, "plan-*.json") or not collected:
        beside = dict.fromkeys(file.parent for file in matching(folder.parent, "*/plan-*.json"))
        others = ", ".join(str(each) for each in beside if matching(each, "*.parquet"))
        there_are = f"collected here: {others}" if others else "name one such as results/demo"
        there_are += "; methods are compared by `fedbench bench`" * (str(folder) in every_method())
        what = "holds no collected runs of a scale" if exists(folder) else "there is no such folder"
        raise FedbenchError(f"{folder}: {what}; {there_are}")
    written = files_by_name(workflow / "papers", "*.yaml")
    wanted = papers or tuple(name for name in collected if name in written)
    # of a link the folder where it leads may be that of a scale
    scales = files_by_name(workflow / "scales", "*.yaml")
    places = [Path(os.path.abspath(folder)), folder.resolve()]
    place = next((place for place in places if place.name in scales), places[0])
    return Side(make_plan(workflow, place.name, wanted), place.parent)


def _apart(compared: "Compared", one: Path, other: Path) -> Iterator[dict[str, str]]:
    from fedbench.report.values.numbers import signed, with_deviation

    apart = compared.cells[compared.cells["apart"]].sort_values("p", kind="stable")
    for cell in apart.to_dict("records"):
        place = [cell[name] for name in ("dataset", "setting", "method", "metric")]
        row = {"table": cell["table"], "cell": ", ".join(filter(None, place))}
        for folder, side in ((one, "one"), (other, "other")):
            number = with_deviation(cell[f"mean_{side}"], cell[f"std_{side}"], 2)
            row[f"in {folder}"] = f"{number} ({len(cell[f'values_{side}'])})"
        yield row | {"difference": signed(cell["difference"], 2), "p": f"{cell['p']:.1g}"}


def _counts(compared: "Compared", one: Path, other: Path) -> str:
    cells = compared.cells
    untested = cells[cells["p"].isna() & ~cells["same"]]
    lost = sum(not math.isfinite(each) for each in untested["difference"])
    return (
        f"Cells measured in both: {len(cells):,}. The same in every run: {cells['same'].sum():,}. "
        f"Differ beyond the spread of the seeds: {cells['apart'].sum():,}. Differ, with too few "
        f"seeds to tell: {len(untested) - lost:,}. Not finite in one of the two: {lost:,}. Only in "
        f"{one}: {compared.only_one:,}, only in {other}: {compared.only_other:,}."
    )


def _facts(compared: "Compared") -> list[Any]:
    """The cells for a program; JSON has no number that is not finite."""
    from fedbench.report.compare import PLACE

    named = compared.cells.rename(columns={"mean_one": "one", "mean_other": "other"})
    cells = named[[*PLACE, "one", "other", "difference", "p", "apart", "same"]]
    finite = cells.replace([math.inf, -math.inf], math.nan).astype(object)
    return finite.where(finite.notna(), None).to_dict("records")
