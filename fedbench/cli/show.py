"""The command `show`: one run in the terminal, with its settings and its curve."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from fedbench.base.errors import FedbenchError, shown, unknown
from fedbench.base.files import exists
from fedbench.cli import options
from fedbench.cli.app import Panel, app, console, print_line

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    import pandas as pd

    from fedbench.store import RunFolder

_RUN = "A run's id, any part of it that no other run has, or the path of its folder."
_WIDTH, _HEIGHT = 50, 12  # letters of the plot; a tick at every tenth
_MANY = 5  # runs that are named where a part of an id fits several


@app.command(rich_help_panel=Panel.runs)
def show(
    run: Annotated[str, typer.Argument(help=_RUN)],
    column: Annotated[
        str, typer.Option(help="What is plotted. Default: the accuracy, or else the loss.")
    ] = "",
    results: options.Results = options.RESULTS,
) -> None:
    """Show a run: the settings that are not the defaults, its curve, and where its folder is.

    A setting that a search chose has the value that the run used.
    """
    from fedbench.store import state

    folder = _folder(run, results)
    record = folder.record()
    if record is None:
        now = state(folder)
        at, why = f", round {now.round}" * bool(now.round), f": {now.why}" * bool(now.why)
        print_line(f"{folder.path.name} is {now.status}{at}{why}")
        return
    history = folder.history()
    plotted = _column(column, history)
    table = Table(show_header=False, title=record["id"], title_justify="left")
    for name, value in _facts(record, folder):
        table.add_row(name, value)
    console.print(table)
    console.print(f"{plotted} over the rounds")
    console.print(_plot(history["round"], history[plotted]), highlight=False)


def _folder(run: str, results: Path) -> "RunFolder":
    """The folder of the run; raises `FedbenchError` if none or several fit."""
    from fedbench.store import Results, RunFolder

    named = Path(run)
    if exists(named / "run.json") or (named.parent.name == "runs" and named.is_dir()):
        return RunFolder(named)
    runs = Results(results).runs
    names = sorted(path.name for path in runs.iterdir()) if runs.is_dir() else []
    fitting = [name for name in names if run in name]
    if run in names or len(fitting) == 1:
        return Results(results).run(run if run in names else fitting[0])
    if not fitting:
        raise FedbenchError(f"{runs}: {unknown('run', run, names)}")
    listed = ", ".join(fitting[:_MANY]) + (", …" if len(fitting) > _MANY else "")
    raise FedbenchError(f"'{shown(run)}' is a part of {len(fitting)} runs' ids: {listed}")


def _column(asked: str, history: "pd.DataFrame") -> str:
    if asked and asked not in history:
        raise unknown("column", asked, history.columns)
    return asked or ("accuracy" if "accuracy" in history else "loss")


def _facts(record: dict[str, Any], folder: "RunFolder") -> Iterator[tuple[str, str]]:
    """Settings that are not the defaults, then what the run cost, and where it is."""
    from fedbench.plan.search import as_trained

    settings, chosen = as_trained(record["settings"], record["resolved"])
    settings.pop("numerics", None)
    for name, value in settings.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield name, f"{text} ({chosen[name]})" if name in chosen else text
    seconds = [f"{phase} {value:.1f}" for phase, value in record["seconds"].items() if value]
    yield "status", f"{record['status']} after {record['rounds']} rounds"
    yield "seconds", ", ".join(seconds)
    yield "sample passes", f"{record['sample_passes']:,}"
    if "floats" in record:
        yield "numbers sent", ", ".join(f"{way} {n:,}" for way, n in record["floats"].items())
    yield "device", record["device"]
    yield "folder", str(folder.path)


def _plot(rounds: "pd.Series[int]", values: "pd.Series[float]") -> str:
    """The curve in letters; values that are not finite are left out."""
    import plotille

    sound = values[values.abs() < float("inf")]
    if sound.empty:
        return "no finite value"
    figure = plotille.Figure()
    figure.width, figure.height = _WIDTH, _HEIGHT
    figure.x_label, figure.y_label = "round", str(values.name)
    figure.x_ticks_fkt = figure.y_ticks_fkt = lambda tick, _: f"{tick:.4g}"
    figure.set_x_limits(min_=0, max_=int(rounds.max()))
    figure.plot([int(n) for n in rounds[sound.index]], [float(v) for v in sound])
    return str(figure.show())
