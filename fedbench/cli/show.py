"""The command `show`: a run in the terminal, with its settings and its curve, or several curves."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from fedbench.base.errors import FedbenchError, shown, unknown
from fedbench.base.files import exists
from fedbench.base.grouping import grouped
from fedbench.base.plugins import files_by_name
from fedbench.cli import options
from fedbench.cli.app import Panel, app, console, print_line, table_of

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    import pandas as pd

    from fedbench.store import Results, RunFolder

_RUNS = (
    "A run's id, any part of it that no other run has, or the path of its folder; several are "
    "drawn together. Or a paper, and which of its runs: methods, settings and seeds, as in "
    "`arena FedCM FedAvg delta=0.1 s0`."
)
_COLUMN = "What is plotted. Default: the accuracy, or else the loss."
_WIDTH, _HEIGHT = 50, 12  # letters of the plot; a tick at every tenth
_MANY = 5  # runs that are named where a part of an id fits several
_CURVES = 8  # that one plot has room for
_GREEK = {"δ": "delta", "α": "alpha", "λ": "lam"}


@app.command(rich_help_panel=Panel.runs)
def show(
    runs: Annotated[list[str], typer.Argument(help=_RUNS)],
    column: Annotated[str, typer.Option(help=_COLUMN)] = "",
    scale: options.Scale = "demo",
    workflow: options.Workflow = options.WORKFLOW,
    results: options.Results = options.RESULTS,
) -> None:
    """Show a run: the settings that are not the defaults, its curve, and where its folder is.

    A setting that a search chose has the value that the run used. Of several runs the curves are
    drawn together: of a paper the mean over the seeds of each method and setting.
    """
    from fedbench.store import Results

    folders = Results(results)
    if runs[0] in files_by_name(workflow / "papers"):
        named = _of_paper(runs[0], runs[1:], workflow, scale, folders)
    else:
        if len(runs) > _CURVES:
            raise FedbenchError(f"{len(runs)} runs are named, and {_CURVES} curves have room")
        named = {each: [_folder(each, folders)] for each in runs}
    first, *others = named.values()
    if others or len(first) > 1:
        _show_all(named, column)
    else:
        _show_one(first[0], column)


def _of_paper(
    paper: str, asked: list[str], workflow: Path, scale: str, results: "Results"
) -> "dict[str, list[RunFolder]]":
    """The finished runs of a paper that all words fit, by method and setting."""
    from fedbench.paper.grid_points import by_setting
    from fedbench.plan.plan import make_plan
    from fedbench.report.claims.compared_sides import words as point_words
    from fedbench.report.values.numbers import level_name, point_name

    cells = make_plan(workflow, scale, (paper,)).cells
    levels = [cell.coords | {"seed": f"s{cell.seed}"} for cell in cells]
    names = [  # such as '0.1', 'δ = 0.1' and 'delta=0.1'
        {x: [point_name(x, level), level_name(x, level), f"{x}={level}"] for x, level in of.items()}
        for of in levels
    ]
    wanted = _wanted(paper, asked, names)
    fitting = [
        cell
        for cell, own in zip(cells, names, strict=True)
        if all(
            any(words & {*map(_plain, own.get(x, ()))} for x in axes)
            for axes, words in wanted.items()
        )
    ]
    found: dict[str, list[RunFolder]] = {}
    for label, of_label in by_setting(fitting, lambda cell: point_words(cell.coords)).items():
        folders = map(results.run, dict.fromkeys(cell.run_id for cell in of_label))
        if finished := [folder for folder in folders if folder.has_record()]:
            found[label] = finished
    if not found:
        raise FedbenchError(f"{results.root}: no finished run of {paper} at scale {scale} fits")
    if len(found) > _CURVES:
        left = {x for each in names for x in each} - {"method", "seed"}.union(*wanted)
        others = {each[axis][0] for each in names for axis in left & each.keys()}
        said = f"{len(found)} curves fit, and {_CURVES} have room; name methods, seeds as s0, or of"
        raise FedbenchError(f"{said} these: {', '.join(sorted(others)) or 'nothing else'}")
    return found


def _wanted(
    paper: str, asked: list[str], names: list[dict[str, list[str]]]
) -> dict[frozenset[str], set[str]]:
    """The levels that words name, by the axes that have them: 'FedGKD' is a method, if any is."""
    every = [(name, axis) for each in names for axis, of in each.items() for name in of]
    if not every:
        raise FedbenchError(f"{paper} has no run at this scale; name another with --scale")
    axes_of = grouped(dict.fromkeys(every), lambda pair: _plain(pair[0]))
    wanted: dict[frozenset[str], set[str]] = {}
    for word in asked:
        if _plain(word) not in axes_of:
            raise unknown(f"method, setting or seed of {paper}", word, dict(every))
        axes = {axis for _, axis in axes_of[_plain(word)]}
        named = frozenset({"method"} & axes or axes)
        wanted.setdefault(named, set()).add(_plain(word))
    return wanted


def _plain(word: str) -> str:
    """A word as it is compared: without capitals and spaces, with Greek letters by name."""
    letters = (_GREEK.get(x, x) for x in word.lower() if not x.isspace())
    return "".join(letters).replace("=.", "=0.")


def _show_all(named: "dict[str, list[RunFolder]]", column: str) -> None:
    import pandas as pd

    curves, rows = {}, []
    for label, folders in named.items():
        if not all(folder.has_record() for folder in folders):
            raise FedbenchError(f"{label}: is not finished; `fedbench show` of it alone says more")
    read = {label: [folder.history() for folder in folders] for label, folders in named.items()}
    plotted = _column(column, *(each for of_label in read.values() for each in of_label))
    for mark, (label, histories) in zip("abcdefgh", read.items(), strict=False):
        runs = pd.concat([each.set_index("round")[plotted] for each in histories], axis=1)
        runs = runs.sort_index().ffill()
        for n, (folder, each) in enumerate(zip(named[label], histories, strict=True)):
            diverged = (folder.record() or {}).get("status") == "diverged"
            if diverged and not math.isfinite(each[plotted].iloc[-1]):  # which it keeps
                runs.iloc[runs.index.get_loc(each["round"].iloc[-1]) :, n] = math.nan
        last, std = runs.iloc[-1].mean(skipna=False), runs.iloc[-1].std(skipna=False)
        curves[mark] = runs.mean(axis=1)
        number = f"{last:.4g}" + (f" ± {std:.2g}" if len(histories) > 1 else "")
        ids = "\n".join(folder.path.name for folder in named[label])
        rows.append({"": mark, "curve": label, f"last {plotted}": number, "runs": ids})
    console.print(table_of(rows))
    console.print(_plot(curves, plotted), highlight=False)


def _show_one(folder: "RunFolder", column: str) -> None:
    from fedbench.plan.search import as_trained
    from fedbench.store import state

    record = folder.record()
    if record is None:
        now = state(folder)
        at, why = f", round {now.round}" * bool(now.round), f": {now.why}" * bool(now.why)
        print_line(f"{folder.path.name} is {now.status}{at}{why}")
        return
    history = folder.history()
    plotted = _column(column, history)
    table = Table(show_header=False, title=record["id"], title_justify="left")
    settings, chosen = as_trained(record["settings"], record["resolved"])
    settings.pop("numerics", None)  # then those that are not the defaults are left
    for name, value in settings.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        table.add_row(name, f"{text} ({chosen[name]})" if name in chosen else text)
    seconds = [f"{phase} {value:.1f}" for phase, value in record["seconds"].items() if value]
    table.add_row("status", how_it_ended(record))
    table.add_row("seconds", ", ".join(seconds))
    table.add_row("sample passes", f"{record['sample_passes']:,}")
    if "floats" in record:
        sent = (f"{way} {n:,}" for way, n in record["floats"].items())
        table.add_row("numbers sent", ", ".join(sent))
    table.add_row("device", record["device"])
    table.add_row("folder", str(folder.path))
    console.print(table)
    console.print(f"{plotted} over the rounds")
    console.print(_plot({"": history.set_index("round")[plotted]}, plotted), highlight=False)


def _folder(run: str, results: "Results") -> "RunFolder":
    from fedbench.store import RunFolder

    named = Path(run)
    if exists(named / "run.json") or (named.parent.name == "runs" and named.is_dir()):
        return RunFolder(named)
    runs = results.runs
    names = sorted(path.name for path in runs.iterdir()) if runs.is_dir() else []
    fitting = [run] if run in names else [name for name in names if run in name]
    if not fitting:
        raise FedbenchError(f"{runs}: {unknown('run', run, names)}")
    if len(fitting) > 1:
        listed = ", ".join(fitting[:_MANY]) + (", …" if len(fitting) > _MANY else "")
        raise FedbenchError(f"'{shown(run)}' is a part of {len(fitting)} runs' ids: {listed}")
    return results.run(fitting[0])


def _column(asked: str, *histories: "pd.DataFrame") -> str:
    for history in histories:
        if asked and asked not in (names := [x for x in history.columns if x != "round"]):
            raise unknown("column", asked, names)
    return asked or ("accuracy" if all("accuracy" in each for each in histories) else "loss")


def how_it_ended(record: Mapping[str, Any]) -> str:
    """'finished after 50 rounds', 'finished after 37 of 50 rounds, stopped early'."""
    done, planned = record["rounds"], record["resolved"].get("rounds", record["rounds"])
    if done == planned:
        return f"{record['status']} after {done} rounds"
    early = ", stopped early" if record["status"] == "finished" else ""
    return f"{record['status']} after {done} of {planned} rounds{early}"


def _plot(curves: "dict[str, pd.Series[float]]", name: str) -> str:
    import plotille

    sound = {mark: values[values.abs() < float("inf")] for mark, values in curves.items()}
    if all(values.empty for values in sound.values()):
        return "no finite value"
    figure = plotille.Figure()
    figure.width, figure.height = _WIDTH, _HEIGHT
    figure.x_label, figure.y_label = "round", name
    figure.x_ticks_fkt = figure.y_ticks_fkt = lambda tick, _: f"{tick:.4g}"
    figure.set_x_limits(min_=0, max_=int(max(values.index.max() for values in curves.values())))
    for mark, values in sound.items():
        figure.plot([*map(int, values.index)], [*map(float, values)], marker=mark or None)
    return str(figure.show())
