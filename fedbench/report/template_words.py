"""What pages, CSV files and commands say in words: the macros of `templates/*.words.j2`, filled."""

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

import jinja2

from fedbench.base.grouping import grouped
from fedbench.paper.metrics import Metric
from fedbench.paper.scale import quoted
from fedbench.paper.yaml_notation import level_text
from fedbench.report.claims.finding import LABELS, Evidence, Label
from fedbench.report.claims.tests import FEWEST
from fedbench.report.tables.ranks import MANY
from fedbench.report.values.numbers import amount, fixed, signed

FOLDER = Path(__file__).with_name("templates")


def say(name: str, *shown: Any) -> str:
    """The words of the macro `name` ('claims.reason') on what is shown, in one line."""
    file, _, macro = name.partition(".")
    return " ".join(getattr(_macros(file), macro)(*shown).split())


def _ordinal(number: int) -> str:
    few = number % 100 not in (11, 12, 13)
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if few else "th"
    return f"{number}{ending}"


def _spans(
    rows: Iterable[Evidence], size: Callable[[Evidence], float | None], *, apart: bool = False
) -> Iterator[dict[str, Any]]:
    """The span of a size by unit, that without a name by metric; with `apart` if units differ."""
    sizes = [(x, row) for row in rows if (x := size(row)) is not None and not math.isnan(x)]
    by_metric = apart and len({row.unit or row.metric for _, row in sizes}) > 1
    groups = grouped(sizes, lambda x: x[1].metric if by_metric or not x[1].unit else x[1].unit)
    for group in groups.values():
        numbers, row = [x for x, _ in group], group[0][1]
        span = {"low": min(numbers), "middle": median(numbers), "high": max(numbers)}
        yield {"metric": row.metric, "unit": row.unit, **span}


FILTERS: dict[str, Callable[..., Any]] = {
    "amount": amount,
    "by_setting": lambda found: [[*x] for _, x in groupby(found, lambda each: each.setting)],
    "confidence": lambda risk: f"{round(100 * (1 - risk), 2 if risk >= 0.001 else 4):.8g}",
    "counted": lambda number, word: f"{number} {word}{'' if number == 1 else 's'}",
    "detectable_spans": lambda rows: _spans(rows, lambda row: row.detectable),
    "effect_spans": lambda rows: _spans(rows, lambda row: row.effect, apart=True),
    "fixed": fixed,
    "level": level_text,
    "ordinal": _ordinal,
    "quoted": quoted,
    "signed": signed,
}


def environment(*folders: Path, autoescape: bool) -> jinja2.Environment:
    """Templates in these folders, with the filters and tests that all of them have."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        autoescape=autoescape,  # noqa: S701
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters |= FILTERS
    made.tests |= {"nan": math.isnan, "contains": operator.contains}
    made.tests["score"] = lambda name: Metric(name).is_score
    return made


@cache
def _macros(file: str) -> Any:
    made = environment(FOLDER, autoescape=False)  # a page escapes what they say
    made.globals |= {"metric_label": lambda name: Metric(name).label, "verdict_labels": LABELS}
    made.globals |= {"labels": [*Label], "fewest": FEWEST, "many": MANY}
    return made.get_template(f"{file}.words.j2").module
