"""A made-up paper with a figure of every kind, and runs that look like the real ones."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from fedbench.base.files import read_text, write_text
from fedbench.plan.plan import Plan, make_plan
from fedbench.report.figures.drawing import Drawing, drawing
from fedbench.report.values.collected_frames import Collected
from fedbench.spec import RunSpec

PAPER = read_text(Path(__file__).with_suffix(".yaml"))


def made_up(folder: Path, scale: str = "paper", text: str = PAPER) -> Plan:
    """The paper's plan; the scale 'small' has digits for CIFAR.

    It is not checked: a figure shows columns that no probe of its runs writes.
    """
    for name, content in (
        ("papers/made.yaml", text),
        ("scales/paper.yaml", "about: As printed.\n"),
        ("scales/small.yaml", "about: Small.\nsubstitutes: {dataset: {cifar10: digits}}\n"),
    ):
        write_text(folder / "workflow" / name, content)
    with patch("fedbench.plan.plan.check_paper"):
        return make_plan(folder / "workflow", scale)


def draw_from(plan: Plan, key: str, collected: Collected) -> Drawing:
    """A figure of the made-up paper."""
    return drawing(plan, ("made", key), collected)


def history(runs: dict[str, RunSpec], skip: int = 0) -> pd.DataFrame:
    """Learning curves: better with more α, with ASD, and by seed; `skip` runs are left out."""
    return pd.concat([_history(run) for run in list(runs.values())[skip:]], ignore_index=True)


def _history(run: RunSpec) -> pd.DataFrame:
    rng = np.random.default_rng(int(run.id[-8:], 16))
    rounds = np.arange(1, run.rounds + 1)
    top = 0.55 + 0.1 * float(run.partition.params.get("alpha", 1)) + 0.15 * run.participation
    top += 0.02 * len(run.parts) + 0.03 * ("asd" in run.id) + 0.08 * ("fedadc" in run.id)
    curve = top * (1 - np.exp(-rounds / 15)) + rng.normal(0, 0.012, len(rounds))
    columns = {
        "round": rounds,
        "accuracy": curve,
        "train_loss": 2.3 * np.exp(-rounds / 20) + rng.normal(0.1, 0.01, len(rounds)),
        "step_norm": 3 * np.exp(-rounds / 40) * (1 - 0.2 * ("asd" in run.id))
        + rng.normal(0, 0.1, len(rounds)),
        "local_accuracy": curve / 2,
        "personal_global": curve,
        "personal_none": curve + 0.033,
        "personal_prox": curve + 0.037,
        "personal_distil": curve + 0.041,
    }
    return pd.DataFrame(columns).assign(run_id=run.id, status="finished")


def write_tables(runs: dict[str, RunSpec], folder: Path) -> None:
    """The runs' folders with the tables of the probes they watch."""
    for run in runs.values():
        rng = np.random.default_rng(run.seed)
        own = folder / run.id
        own.mkdir(parents=True, exist_ok=True)
        _clients(run, rng).to_parquet(own / "clients.parquet")
        for probe in run.watch:
            table = _TABLES[probe.name](run, rng)
            table.to_parquet(own / f"{probe.name}.parquet")


def _clients(run: RunSpec, rng: np.random.Generator) -> pd.DataFrame:
    alpha = float(run.partition.params.get("alpha", 1))
    shares = rng.dirichlet([alpha] * 10, run.clients)
    rows = [(i, c, round(500 * shares[i, c])) for i in range(run.clients) for c in range(10)]
    found = pd.DataFrame(rows, columns=["client", "label", "count"])
    return found[found["count"] > 0]


def _steps(run: RunSpec, rng: np.random.Generator) -> pd.DataFrame:
    r, i, k = (x.ravel() for x in np.meshgrid(range(60), range(5), range(20), indexing="ij"))
    cosine = np.clip(0.95 - 0.025 * k + rng.normal(0, 0.1, k.size), -1, 1)
    steps = {"round": r, "client": i, "step": k, "cosine": cosine, "projection": 2 * cosine}
    r, i = (x.ravel() for x in np.meshgrid(range(60), range(5), indexing="ij"))
    momentum = {"momentum_cosine": 0.6 - 0.004 * r + rng.normal(0, 0.1, r.size)}
    rounds = pd.DataFrame({"round": r, "client": i, "step": -1, **momentum})
    return pd.concat([pd.DataFrame(steps), rounds], ignore_index=True)


def _spectrum(run: RunSpec, rng: np.random.Generator) -> pd.DataFrame:
    last = 30 if run.parts else 60
    grid = np.linspace(-5, last + rng.random(), 400)
    bulk = np.exp(-0.5 * grid**2) + 0.02 * np.exp(-np.abs(grid) / (last / 12))
    spikes = sum(2e-4 * np.exp(-2 * (grid - at) ** 2) for at in (last * 0.6, last * 0.9))
    return pd.DataFrame({"eigenvalue": grid, "density": bulk + spikes})


def _embedding(run: RunSpec, rng: np.random.Generator) -> pd.DataFrame:
    def points(model: str, spread: float) -> pd.DataFrame:
        labels = np.repeat(np.arange(10), 60)
        centre = 10 * np.stack([np.cos(labels * 0.63), np.sin(labels * 0.63)])
        x, y = centre + rng.normal(0, spread, centre.shape)
        seen = {"model": model, "x": x, "y": y, "label": labels, "predicted": labels}
        return pd.DataFrame(seen).assign(accuracy=0.875 if model == "global" else 0.25)

    return pd.concat([points("global", 1.5), points("local", 4)], ignore_index=True)


def _changes(run: RunSpec, rng: np.random.Generator) -> pd.DataFrame:
    rows = []
    for client, counts in ((3, [210, 0, 5, 90, 0, 44, 1, 150, 0, 0]), (8, [0] * 5 + [99] * 5)):
        for label, count in enumerate(counts):
            held = 0.35 if "asd" in run.id else 1
            change = 0.15 * (count > 40) - 0.4 * held * (count < 10) + rng.normal(0, 0.02)
            rows.append((59, client, label, count, 0.5, 0.5 + change))
    names = ["round", "client", "label", "count", "before", "after"]
    return pd.DataFrame(rows, columns=names)


def _regions(run: RunSpec, rng: np.random.Generator) -> pd.DataFrame:
    x1, x2 = (x.ravel() for x in np.meshgrid(np.linspace(-4, 4, 60), np.linspace(-4, 4, 60)))
    frames = []
    for user, tilt in (("user 1", 1.0), ("user 2", -1.0), ("user 3", 0.4), ("global", 0.0)):
        predicted = 2 * (x1 + tilt * 0.4 * x2 > 0) + (x2 + tilt > 0)
        grid = {"model": user, "x1": x1, "x2": x2, "predicted": predicted, "kind": "grid"}
        frames.append(pd.DataFrame(grid).assign(label=-1))
        if user != "global":
            p1, p2 = rng.uniform(-4, 4, (2, 40))
            label = 2 * (p1 > 0) + (p2 > 0)
            point = {"model": user, "x1": p1, "x2": p2, "predicted": label, "label": label}
            frames.append(pd.DataFrame(point).assign(kind="point"))
    return pd.concat(frames, ignore_index=True)


_TABLES: dict[str, Callable[[RunSpec, Any], pd.DataFrame]] = {
    "steps": _steps,
    "spectrum": _spectrum,
    "embedding": _embedding,
    "changes": _changes,
    "regions": _regions,
}
