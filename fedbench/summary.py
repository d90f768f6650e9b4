"""What a finished build says of itself: its runs, and where its time went."""

import re
from collections import Counter
from datetime import datetime

from fedbench.plan import Plan

_STAMP = re.compile(r"\[(\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4})\]")
_STARTED = re.compile(r" +jobid: (\d+)")
_FINISHED = re.compile(r"Finished jobid: (\d+) \(Rule: (\w+)\)")


def summary(plan: Plan, log: str) -> str:
    """A line for the runs and one for the jobs in a log of Snakemake's."""
    took = [
        f"{station} {seconds:,.0f} s in {jobs}" for station, jobs, seconds in stations(log)
    ] or ["nothing was left to do"]
    runs = f"{len(plan.runs):,} runs, {shared(plan):,} of them in several tables or figures"
    return f"{runs}.\nStations, seconds and jobs: {', '.join(took)}."


def shared(plan: Plan) -> int:
    """How many runs more than one table or figure rests on, trials of a search among them."""
    count: Counter[str] = Counter()
    for name, paper in plan.papers.items():
        for _, item in paper.items():
            cells = plan.select(name, item.grid, item.where)
            count.update({run.id for run in plan.with_trials(cells)})
    return sum(times > 1 for times in count.values())


def stations(log: str) -> list[tuple[str, int, float]]:
    """(station, jobs, seconds that they took one after the other), in order of their end."""
    now, started = datetime.min, dict[str, datetime]()
    found: dict[str, list[float]] = {}
    for line in log.splitlines():
        if stamp := _STAMP.match(line):
            now = datetime.strptime(stamp[1], "%a %b %d %H:%M:%S %Y")
        elif begun := _STARTED.match(line):
            started[begun[1]] = now
        elif (ended := _FINISHED.match(line)) and not ended[2].startswith("reproduce"):
            station = re.sub(r"_\d+$", "", ended[2])  # the batches train_0, train_1, …
            found.setdefault(station, []).append((now - started[ended[1]]).total_seconds())
    return [(name, len(seconds), sum(seconds)) for name, seconds in found.items()]
