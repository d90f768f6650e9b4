"""The command `compare`: where two folders of results differ by more than seeds do."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from fedbench.base.errors import FedbenchError
from fedbench.base.files import exists, matching
from fedbench.base.yamlfile import split
from fedbench.cli.app import AsJson, Panel, Papers, WorkflowFolder, app, console, sentences

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    from fedbench.report.compare import Compared, Pair, Side

_FOLDER = "The folder of a scale below a results folder, such as results/demo."


@app.command(rich_help_panel=Panel.papers)
def compare(
    one: Annotated[Path, typer.Argument(help=_FOLDER)],
    other: Annotated[Path, typer.Argument(help="Another such folder.")],
    papers: Papers = "",
    as_json: AsJson = False,
    workflow: WorkflowFolder = Path("workflow"),
) -> None:
    """Say which cells of the tables differ between two scales or two machines beyond the seeds.

    Cells are joined by their place in a paper's tables. Each is tested with Welch's t-test on the
    seeds; of those that are called different at most 5 % are expected to be false alarms.
    """
    with sentences():
        from fedbench.report.compare import compare as joined

        names = split(papers)
        compared = joined(_side(one, names, workflow), _side(other, names, workflow))
        if not compared.pairs:
            raise FedbenchError(f"{one} and {other}: no cell of a table was measured in both")
    if as_json:
        print(json.dumps([_facts(pair) for pair in compared.pairs], ensure_ascii=False))
        return
    _show(compared, one, other)


def _side(folder: Path, papers: tuple[str, ...], workflow: Path) -> "Side":
    """The folder's plan, of the papers asked for or else of those that were collected there."""
    from fedbench.base.plugins import files_by_name
    from fedbench.plan.outlook import planned
    from fedbench.report.compare import Side

    there = [file.stem for file in matching(folder, "*.parquet")]
    if not exists(folder / "plan.json") or not there:
        raise FedbenchError(
            f"{folder}: holds no collected runs of a scale; name a folder such as results/demo"
        )
    written = files_by_name(workflow / "papers", "*.yaml")
    wanted = papers or tuple(name for name in there if name in written)
    return Side(planned(workflow, folder.resolve().name, wanted), folder.resolve().parent)


def _show(compared: "Compared", one: Path, other: Path) -> None:
    table = Table("table", "cell", str(one), str(other), "difference", "p")
    for pair in compared.apart:
        table.add_row(*_cells(pair))
    if compared.apart:
        console.print(table)
    untested = sum(pair.p is None for pair in compared.pairs)
    same = sum(pair.same for pair in compared.pairs)
    console.print(
        f"{len(compared.pairs):,} cells were measured in both; {same:,} are the same in every run, "
        f"{len(compared.apart):,} differ beyond the spread of the seeds, and {untested:,} have too "
        f"few seeds to tell. {compared.only_one:,} more are only in {one}, "
        f"{compared.only_other:,} only in {other}.",
        soft_wrap=True,
    )


def _cells(pair: "Pair") -> Iterator[str]:
    from fedbench.report.values.numbers import fixed, signed

    place = pair.place
    yield pair.table
    yield ", ".join(filter(None, (place.dataset, place.setting, place.method, place.metric)))
    for cell in (pair.one, pair.other):
        stat = cell.measured
        spread = f" ± {fixed(stat.std, 2)}" if stat and stat.std is not None else ""
        yield f"{fixed(stat.mean, 2) if stat else '–'}{spread} ({len(cell.measured_runs)})"
    yield signed(pair.difference, 2)
    yield f"{pair.p:.1g}" if pair.p is not None else ""


def _facts(pair: "Pair") -> dict[str, Any]:
    means = {
        name: cell.measured.mean
        for name, cell in (("one", pair.one), ("other", pair.other))
        if cell.measured
    }
    place = {name: getattr(pair.place, name) for name in pair.place.__dataclass_fields__}
    about = {"difference": pair.difference, "p": pair.p, "apart": pair.apart, "same": pair.same}
    return {**place, "table": pair.table, **means, **about}
