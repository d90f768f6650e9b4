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
    folder = _folder(run, results)
    record = folder.record()
    if record is None:
        print_line(_unfinished(folder))
        return
    history = folder.history()
    plotted = _column(column, history)
    console.print(_facts(record, folder))
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


def _unfinished(folder: "RunFolder") -> str:
    """How far a run has come, and why it failed if it did."""
    from fedbench.store import state

    now = state(folder)
    at = f", round {now.round}" if now.round else ""
    why = f": {now.why}" if now.why else ""
    return f"{folder.path.name} is {now.status}{at}{why}"


def _column(asked: str, history: "pd.DataFrame") -> str:
    if asked and asked not in history:
        raise unknown("column", asked, history.columns)
    return asked or ("accuracy" if "accuracy" in history else "loss")


def _facts(record: dict[str, Any], folder: "RunFolder") -> Table:
    """Settings that are not the defaults, then what the run cost."""
    table = Table(show_header=False, title=record["id"], title_justify="left")
    for name, value in [*_settings(record), *_costs(record)]:
        table.add_row(name, value)
    table.add_row("folder", str(folder.path))
    return table


def _settings(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    from fedbench.plan.search import as_trained

    settings, chosen = as_trained(record["settings"], record["resolved"])
    for name, value in settings.items():
        if name != "numerics":
            said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield name, f"{said} ({chosen[name]})" if name in chosen else said


def _costs(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "status", f"{record['status']} after {record['rounds']} rounds"
    seconds = {phase: value for phase, value in record["seconds"].items() if value}
    yield "seconds", ", ".join(f"{phase} {value:.1f}" for phase, value in seconds.items())
    yield "sample passes", f"{record['sample_passes']:,}"
    if "floats" in record:
        yield "numbers sent", ", ".join(f"{way} {n:,}" for way, n in record["floats"].items())
    yield "device", record["device"]


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
