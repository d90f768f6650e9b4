"""Where the numbers of a paper's tables stand, told from its YAML file alone."""

from fedbench.base.errors import FedbenchError, unknown
from fedbench.base.strict import checked
from fedbench.paper.items import Table
from fedbench.paper.paper import Paper
from fedbench.paper.places import Level, level_text
from fedbench.plan import matches, points, printed_choices, resolve
from fedbench.printed import Place, Printed
from fedbench.spec import Choice


def axes(table: Table) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The axes of rows and of columns; several metrics that neither names become rows."""
    loose = len(table.metrics) > 1 and "metric" not in table.rows + table.columns
    return (*table.rows, "metric") if loose else table.rows, table.columns


def place_of(key: str, paper: Paper, point: dict[str, Level], metric: str) -> Place:
    """Where the number of a point of its grid stands in a table of the paper."""
    table = paper.tables[key]
    key = table.printed or key
    shown = [axis for axis in sum(axes(table), ()) if axis not in ("dataset", "method", "metric")]
    setting = ";".join(f"{axis}={level_text(point[axis])}" for axis in shown)
    method = str(point.get("method", ""))
    if "dataset" in point:
        return Place(key, str(point["dataset"]), setting, method, metric)
    settings = printed_choices(resolve(paper, paper.grids[table.grid], point))
    return Place(key, checked(Choice, settings["dataset"]).name, setting, method, metric)


def check_printed(printed: Printed, paper: Paper) -> None:
    """Raise `FedbenchError` on a number of no table, or of no cell; facts know their own cells."""
    asked = {place.table: place for place in printed.numbers}
    for key, place in asked.items():
        if key in paper.tables:
            printed.refuse_strangers(key, _places(key, paper))
        elif key not in paper.facts:
            known = [*paper.tables, *paper.facts]
            raise FedbenchError(f"{printed.at(place)}: {unknown('table', key, known)}")


def _places(key: str, paper: Paper) -> list[Place]:
    table = paper.tables[key]
    own = [p for p in points(paper.grids[table.grid]) if matches(p, table.where)]
    return [place_of(key, paper, point, metric) for metric in table.metrics for point in own]
