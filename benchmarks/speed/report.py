"""Writes the rows as a table, as JSON and as a plot; says where they were measured."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from fedbench.engine.record import processor
from speed.environments import PEERS, missing, title
from speed.process import CORES
from speed.turns import Row, Spread

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
}
_NOTES = {"methods": "declared extra passes"}

_COLOURS = {"fedbench": "#0072b2", "bare": "#999999", "peer": "#e69f00"}


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


def draw(rows: Sequence[Row], file: Path) -> None:
    """One panel per workload; rows without numbers are left out."""
    panels = {name: _shown(rows, name) for name in ("W1", "W2", "W3", "W4", "W5")}
    panels = {name: shown for name, shown in panels.items() if shown}
    if not panels:
        return
    height = sum(len(shown) for shown in panels.values()) * 0.32 + len(panels)
    sizes = [len(shown) for shown in panels.values()]
    style = {"svg.hashsalt": "speed", "svg.fonttype": "none"}
    with mpl.rc_context(style):
        figure, axes = plt.subplots(
            len(panels), figsize=(8, height), squeeze=False, layout="constrained",
            gridspec_kw={"height_ratios": sizes},
        )  # fmt: skip
        for ax, (name, shown) in zip(axes[:, 0], panels.items(), strict=True):
            _panel(ax, name, shown)
        figure.savefig(file, metadata={"Date": None})
        plt.close(figure)


def _shown(rows: Sequence[Row], section: str) -> list[tuple[str, Spread]]:
    return [(row.name, row.seconds) for row in rows if row.section == section and row.seconds]


def _panel(ax: Axes, name: str, shown: Sequence[tuple[str, Spread]]) -> None:
    medians = [spread.median for _, spread in shown]
    whiskers = [[s.median - s.low for _, s in shown], [s.high - s.median for _, s in shown]]
    colours = [_COLOURS[_family(label)] for label, _ in shown]
    ax.barh([label for label, _ in shown], medians, xerr=whiskers, color=colours)
    ax.invert_yaxis()
    ax.set_title(name)
    ax.set_xlabel("seconds per round and run (shorter is faster)")
    ax.spines[["top", "right"]].set_visible(False)


def _family(label: str) -> str:
    return "bare" if "bare loop" in label else "fedbench" if "fedbench" in label else "peer"


def about(repeats: int) -> dict[str, str]:
    """What stands above the tables, as name → text."""
    gigabytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    packages = ", ".join(f"{name} {version(name)}" for name in ("fl-fedbench", "torch", "numpy"))
    peers = ", ".join(title(peer) for peer in PEERS if not missing(peer)) or "none installed"
    return {
        "machine": f"{processor()}, {CORES} cores, {gigabytes:.0f} GB, {platform.platform()}",
        "versions": f"Python {platform.python_version()}, {packages}; peers: {peers}",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "other work on the machine at the start": f"load average {os.getloadavg()[0]:.1f}",
        "each number": f"the median of {repeats} repeats that alternate (quartiles in brackets)",
    }
