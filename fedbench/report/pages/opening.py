"""What a report says first: whose claims were tested, what was compared, and what came of both."""

from collections.abc import Iterable

import pandas as pd

from fedbench.paper.metrics import Metric
from fedbench.report.pages.items import BASE, TableOnPage
from fedbench.report.pages.paper import PaperPage
from fedbench.report.tables.rows import Group
from fedbench.report.values.leads import Leads, leads
from fedbench.report.values.numbers import fixed, signed

_VERDICTS = {  # tags of claims → what is said of one and of several
    "here-supported": ("is supported", "are supported"),
    "here-not-supported": ("is not supported", "are not supported"),
    "here-undecided": ("is undecided", "are undecided"),
    "here-not-tested": ("is not tested", "are not tested"),
    **{
        f"reading-{tag}": (
            f"is {words} under a reading of ours",
            f"are {words} under readings of ours",
        )
        for tag, words in (
            ("supported", "supported"),
            ("not-supported", "not supported"),
            ("undecided", "undecided"),
        )
    },
}


def claims_words(pages: Iterable[PaperPage]) -> str:
    """'28 claims of 2 papers (asd, rmfl): 7 are supported, 8 are not supported, …'."""
    judged = [page for page in pages if page.counted and page.paper.prints]
    if not judged:
        return ""
    number = sum(len(page.counted) for page in judged)
    keys = [page.key for page in judged]
    of = f"{len(keys)} paper{'s' * (len(keys) > 1)} ({', '.join(keys)})"
    found = ((words, sum(page.tally[tag] for page in judged)) for tag, words in _VERDICTS.items())
    verdicts = ", ".join(f"{n} {one if n == 1 else more}" for (one, more), n in found if n)
    return f"{number} claim{'s' * (number > 1)} of {of}: {verdicts}."


def leaders_words(item: TableOnPage) -> str:
    """How many methods a leaderboard compares, who leads in each part, and how sure that is."""
    measured = {cell.place.method for cell in item.cells if cell.measured and cell.place.method}
    if len(measured) < 2:
        return ""
    parts = [f"{len(measured)} methods and variants under the same conditions."]
    if firsts := [words for group in item.layout.groups if (words := _first(item, group))]:
        parts.append(f"{Metric(item.table.metrics[0]).label}: {'; '.join(firsts)}.")
    return " ".join(filter(None, [*parts, _ahead(item)]))


def _first(item: TableOnPage, group: Group) -> str:
    """'at δ = 0.5 FedADC+ leads with 58.35 %, FedAvg has 52.12 % (30th of 53)'."""
    metric = Metric(item.table.metrics[0])
    cells = [c for row in group.rows for c in row.cells.values() if c.measured]
    cells = [c for c in cells if c.place.metric == metric.name]
    if len({c.place.method for c in cells}) < max(2, len(cells)):
        return ""  # none to compare, or several settings in one part
    sign = 1 if metric.lower_is_better else -1
    means = {c.place.method: c.measured.mean for c in cells if c.measured}
    names = sorted(means, key=lambda name: sign * means[name])
    unit = " %" if metric.factor(item.table) > 1 else ""
    shown = {name: f"{fixed(means[name], item.table.digits)}{unit}" for name in names}
    first = f"{f'at {group.title} ' * bool(group.title)}{names[0]} leads with {shown[names[0]]}"
    if BASE not in names[1:]:
        return first
    as_shown = {name: round(sign * means[name], item.table.digits) for name in names}
    ahead = sum(as_shown[name] < as_shown[BASE] for name in names)
    return f"{first}, {BASE} has {shown[BASE]} ({ordinal(ahead + 1)} of {len(names)})"


def _ahead(item: TableOnPage) -> str:
    """By how much the first leads FedAvg over all parts, and how many leads are significant.

    Of runs with stand-ins nothing is said, as they test nothing.
    """
    found = None if item.substituted else table_leads(item)
    if found is None:
        return ""
    metric, best = Metric(item.table.metrics[0]), str(found.mean.index[0])
    size = signed(metric.points(item.table) * found.mean[best], 1).lstrip("+")
    lead = "" if best == BASE else f"{best} is {size}{' points' * metric.is_score} ahead"
    beyond = [x for x in found.mean.index if found.mean[x] > 0 and found.tells(str(x))]
    every = " and over all parts" if len(item.layout.groups) > 1 else ""
    told = (
        f"{len(beyond)} {'is' if len(beyond) == 1 else 'are'} significantly ahead (5 %, for all "
        "methods together)"
    )
    said = " and ".join(filter(None, [lead, told if found.tested else ""]))
    return f"Beside {BASE}, seed by seed{every}, {said}." if said else ""


def table_leads(item: TableOnPage) -> Leads | None:
    """Every method's lead over FedAvg by the first metric, over all settings and seeds."""
    metric = item.table.metrics[0]
    sign = -1 if Metric(metric).lower_is_better else 1
    values: dict[str, dict[tuple[str, ...], float]] = {}
    collapsed: set[str] = set()
    for cell in item.cells:
        if cell.place.metric == metric:
            of_method = values.setdefault(cell.place.method, {})
            where = (cell.place.dataset, cell.place.setting)
            of_method |= {
                (*where, r.name): sign * r.value for r in cell.runs if r.value is not None
            }
            low = [r for r in cell.measured_runs if cell.near and (r.value or 0.0) < cell.near]
            collapsed |= {cell.place.method} if cell.diverged or low else set()
    return leads(pd.DataFrame(values), BASE, collapsed) if BASE in values else None


def ordinal(number: int) -> str:
    """'1st', '2nd', '3rd', '11th', '30th'."""
    few = number % 100 not in (11, 12, 13)
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if few else "th"
    return f"{number}{ending}"
