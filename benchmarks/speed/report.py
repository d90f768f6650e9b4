"""Writes the rows as a table, as JSON and as a plot."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from speed.plot import draw
from speed.rows import Row, Spread

_TITLES = {
    "W1": "W1: LeNet-5",
    "W2": "W2: S-CNN",
    "W3": "W3: 2NN, batches of 10",
    "W4": "W4: logistic regression, batches of 10",
    "W5": "W5: MLP, batches of 64",
    "RN8": "ResNet-8, one thread",
    "RN18": "ResNet-18, one thread",
    "A-CNN": "A-CNN, one thread",
    "methods": "Each method against FedAvg, W1, one worker",
    "evaluation": "Evaluation, W1, one worker",
    "scaling": "More clients, the same cohort, W1, one worker",
    "memory": "Peak memory, one worker",
}
_NOTES = {"methods": "declared extra passes"}


def write(folder: Path, rows: Sequence[Row], about: dict[str, Any]) -> None:
    """Write `speed.json`, `table.md` and `speed.svg` anew, with all rows found so far."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {"about": about, "rows": [asdict(row) for row in rows]}
    text = json.dumps(found, indent=1, ensure_ascii=False)
    (folder / "speed.json").write_text(text + "\n", encoding="utf-8")
    (folder / "table.md").write_text(table(rows, about), encoding="utf-8")
    draw(rows, folder / "speed.svg")


def table(rows: Sequence[Row], about: dict[str, Any]) -> str:
    """All sections in Markdown, under a line that says on which machine they were measured."""
    parts = ["# Measured speed\n", *(f"* {name}: {value}" for name, value in about.items())]
    for section, own in groupby(rows, key=lambda row: row.section):
        parts += [f"\n## {_TITLES[section]}\n", *_lines(section, list(own))]
    return "\n".join(parts) + "\n"


def _lines(section: str, rows: Sequence[Row]) -> list[str]:
    columns = {"": [row.name for row in rows], "s per round": [_spread(r.seconds) for r in rows]}
    for other in dict.fromkeys(name for row in rows for name in row.ratios):
        columns[f"ratio to: {other}"] = [_spread(row.ratios.get(other)) for row in rows]
    columns["declared ratio"] = [f"{r.declared:.2f}" if r.declared else "" for r in rows]
    columns["start-up, s"] = [f"{r.startup:.1f}" if r.startup else "" for r in rows]
    columns["peak memory, MB"] = [
        f"{r.peak_bytes / 1e6:,.0f}" if r.peak_bytes else "" for r in rows
    ]
    columns[_NOTES.get(section, "remark")] = [row.note.replace("|", "\\|") for row in rows]
    kept = {head: cells for head, cells in columns.items() if any(cells)}
    body = ["| " + " | ".join(cells) + " |" for cells in zip(*kept.values(), strict=True)]
    return ["| " + " | ".join(kept) + " |", "|---" * len(kept) + "|", *body]


def _spread(found: Spread | None) -> str:
    """'0.57 (0.55–0.60)': the median and the quartiles."""
    if found is None:
        return ""
    return f"{found.median:.3g} ({found.low:.3g}–{found.high:.3g})"
