"""What a finished workflow says of itself: its runs, and the seconds that its rules took."""

import re
from collections import Counter
from datetime import datetime

from fedbench.plan.plan import Plan

_STAMP = re.compile(r"\[(\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4})\]")
_STARTED = re.compile(r" +jobid: (\d+)")
_FINISHED = re.compile(r"Finished jobid: (\d+) \(Rule: (\w+)\)")


def summary(plan: Plan, log: str) -> str:
    """Two sentences: how many runs were to be trained, and how long each rule took by the log."""
    took = [f"{rule} {seconds:,.0f} s in {jobs}" for rule, jobs, seconds in rules(log)]
    several = f"{shared(plan):,} of them in several tables or figures"
    runs = f"{len(plan.runs):,} runs, {several}" if plan.runs else "Nothing was to be trained"
    return f"{runs}.\nRules, seconds and jobs: {', '.join(took) or 'nothing was left to do'}."


def shared(plan: Plan) -> int:
    """How many runs more than one table or figure rests on, trials of a search among them."""
    count: Counter[str] = Counter()
    for name, paper in plan.papers.items():
        for _, item in paper.items():
            cells = plan.select(name, item.grid, item.where)
            count.update(plan.needed(cells))
    return sum(times > 1 for times in count.values())


def rules(log: str) -> list[tuple[str, int, float]]:
    """(rule, jobs, seconds of these jobs added up), in the order in which the rules first ended."""
    now, started = datetime.min, dict[str, datetime]()
    seconds: dict[str, list[float]] = {}
    for line in log.splitlines():
        if stamp := _STAMP.match(line):
            now = datetime.strptime(stamp[1], "%a %b %d %H:%M:%S %Y")
        elif begun := _STARTED.match(line):
            started[begun[1]] = now
        elif (ended := _FINISHED.match(line)) and not ended[2].startswith("reproduce"):
            rule = re.sub(r"_\d+$", "", ended[2])  # the jobs train_0, train_1, …
            seconds.setdefault(rule, []).append((now - started[ended[1]]).total_seconds())
    return [(rule, len(each), sum(each)) for rule, each in seconds.items()]
