"""Methods on the same settings: what is missing is trained, then tables and pictures of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import Any

import pandas as pd
import seaborn as sns
import typer

from fedbench.base.checks import require_name
from fedbench.base.errors import FedbenchError
from fedbench.base.plugins import project, same_folders_after, search_also
from fedbench.cli.app import print_line
from fedbench.cli.init_export_restore import PUBLISHED, reproduce
from fedbench.jobs.export_and_restore import restore_missing
from fedbench.paper.metrics import Metric
from fedbench.paper.paper import TAKEN
from fedbench.paper.paper_from_methods import Bench, chosen_methods, write_bench
from fedbench.paper.printed_numbers import Printed
from fedbench.plan.plan import Plan, make_plan
from fedbench.report.tables.gather_cells import table_cells
from fedbench.report.tables.layout import arrange
from fedbench.report.values import collected_frames
from fedbench.report.values.collected_frames import Collected
from fedbench.report.values.leads import Leads, leads
from fedbench.report.values.numbers import with_deviation
from fedbench.store import Results

SHIPPED = "workflow/published"
Methods = str | Iterable[Any] | Mapping[str, Sequence[Any]]
_HEADING = 14  # letters in a line of a heading: a mean and its deviation are as long


def compare(
    methods: Methods,
    *,
    datasets: Sequence[Any] = ("digits",),
    partitions: Sequence[Any] = ("iid",),
    seeds: int = 3,
    tune: Mapping[str, Sequence[Any]] | None = None,
    metric: str = "accuracy",
    targets: Sequence[float] = (),
    out: Path | str = "bench",
    results: Path | str = "results",
    cores: int | str = "all",
    device: str = "auto",
    data_dir: Path | str | None = None,
    **settings: Any,
) -> "Comparison":
    """Train methods on the same data with an equal search; runs that are finished are used again.

    Raises `FedbenchError` on bad input before anything is trained, or if training failed.

    Args:
        methods: names (`"FedAvg"`, `"FedAvg+asd"`) or parts by a name: `{"mine": ["moon", "asd"]}`.
        datasets: every data set is combined with every partition; each as in a `RunSpec`.
        partitions: such as `["iid", "dl:alpha=0.1"]`.
        seeds: how many seeds, from 0 on.
        tune: values that a search tries for each method, on held-out data: `{"lr": [0.01, 0.1]}`.
        metric: what methods are ranked by.
        targets: scores, from 0 to 1, for which the leaderboard says what it takes to reach them.
        out: the folder for the comparison's file and report; its name is the comparison's.
        results: where runs lie, the same as the workflow's.
        cores: how many train side by side, or "all".
        device: 'cpu', 'cuda' or 'auto'.
        data_dir: the folder with data files.
        **settings: of all runs, as in a `RunSpec`: `rounds=50`.

    """
    asked = {"datasets": datasets, "partitions": partitions, "seeds": seeds, "tune": tune or {}}
    asked |= {"metric": metric, "targets": targets, "settings": settings}
    with same_folders_after():  # another comparison may have the same name
        comparison = prepare(Path(out), Path(results), methods, **asked)
        try:
            comparison.train(str(cores), device=device, data_dir=data_dir, again="the same call")
        except typer.Exit as end:
            said = f"the workflow ended with code {end.exit_code}, for the reason printed above"
            raise FedbenchError(f"{said}; the same call goes on from there") from None
    return comparison


def prepare(out: Path, results: Path, methods: Methods, **asked: Any) -> "Comparison":
    """Write `<out>/papers/<name>.yaml`, a `Bench` with the fields `asked`, and plan it."""
    given = [{k: v} for k, v in methods.items()] if isinstance(methods, Mapping) else methods
    bench = Bench(methods=chosen_methods(given), **asked)
    require_name("the folder's name", out.name, out, TAKEN)
    write_bench(bench, out / "papers" / f"{out.name}.yaml")
    search_also(out)  # where the workflow finds that file, too
    return planned(out.name, "paper", results, out / "reports")


def planned(paper: str, scale: str, results: Path, reports: Path) -> "Comparison":
    """The comparison that a paper's file describes at a scale."""
    return Comparison(make_plan(project() / "workflow", scale, (paper,)), results, reports)


@dataclass(frozen=True)
class Comparison:
    """A plan of one paper that compares methods, and where its runs and its report lie."""

    plan: Plan
    results: Path
    reports: Path

    def __repr__(self) -> str:
        finished = Results(self.results).finished(self.plan.runs)
        return f"Comparison({self.name}, {len(finished)} of {len(self.plan.runs)} runs)"

    @property
    def name(self) -> str:
        """The paper's name."""
        (name,) = self.plan.papers
        return name

    @property
    def page(self) -> Path:
        """The page of the report: `<out>/reports/paper/<name>.html` of a `compare`."""
        return self.reports / self.plan.scale / f"{self.name}.html"

    @property
    def _file(self) -> Path:
        return Results(self.results).frame(self.plan.scale, self.name)

    @property
    def frame(self) -> pd.DataFrame:
        """One row per run and evaluated round: method, seed, settings, and scores as fractions."""
        frame = collected_frames.read(self._file)
        methods = {cell.run_id: cell.coords["method"] for cell in self.plan.cells}
        return frame.assign(method=frame["run_id"].map(methods))

    def plot(self, metric: str = "accuracy", x: str = "round") -> Any:
        """Mean and range of a metric over rounds by method, one panel per data set and partition.

        x may be any other column of `frame`, such as 'sample_passes'. Returns seaborn's grid.
        """
        return sns.relplot(
            self.frame, x=x, y=metric, hue="method", col="partition", row="dataset", kind="line",
            errorbar=lambda values: (values.min(), values.max()), height=3.5, aspect=1.3,
        )  # fmt: skip

    def leaderboard(self) -> pd.DataFrame:
        """The table `leaderboard`: mean ± deviation over the seeds as text, the best first."""
        at = (self.name, "leaderboard")
        table, frame = self.plan.papers[at[0]].tables[at[1]], collected_frames.read(self._file)
        layout = arrange(table, table_cells(self.plan, at, frame, Printed(self._file, {})))
        columns = [column for block in layout.blocks for column in block.columns.items()]
        rows = [(group.title, row) for group in layout.groups for row in group.rows]
        texts = []
        for _, row in rows:
            there = [row.cells.get(point) for point, _ in columns]
            stats = [cell.measured if cell else None for cell in there]
            numbers = [(stat.mean, stat.std) if stat else (None, None) for stat in stats]
            texts.append([with_deviation(mean, std, table.digits) for mean, std in numbers])
        heads = [(title, *(head for head, _ in row.heads)) for title, row in rows]
        index = pd.MultiIndex.from_tuples(heads, names=["", *layout.heads])
        board = pd.DataFrame(texts, index, [label for _, label in columns])
        return board if any(title for title, _ in rows) else board.droplevel(0)

    def words(self, width: int) -> str:
        """The leaderboard, and how far each method is ahead of FedAvg in what ranks, if known."""
        board, table = self.leaderboard(), self.plan.papers[self.name].tables["leaderboard"]
        from_below = (wrap(label, _HEADING)[::-1] for label in board.columns)
        lines = [*zip_longest(*from_below, fillvalue="")]
        board.columns = pd.MultiIndex.from_arrays(lines[::-1])
        words = f"{table.title}\n{board.to_string(line_width=width)}"
        found = self._leads(metric := Metric(table.metrics[0]))
        if found is None or found.half.isna().any():  # of one seed nobody knows the error
            return words
        names = found.mean.index.drop("FedAvg")
        pairs = f"{found.blocks} pairs of one seed; 95 % intervals, each by itself"
        what = f"{metric.label[0].lower()}{metric.label[1:]} after the last round"
        unit = f", in {metric.unit_of_differences}" if metric.unit_of_differences else ""
        heading = wrap(f"Ahead of FedAvg in {what}{unit} ({pairs})", width)
        wide = max(map(len, names))
        rows = (f"{n:{wide}}  {found.mean[n]:+.2f} ± {found.half[n]:.2f}" for n in names)
        return "\n".join([words, *heading, *rows])

    def _leads(self, metric: Metric) -> Leads | None:
        """How far the methods are ahead of FedAvg, scores in points; None if nobody knows."""
        frame = self.frame
        if frame.empty:
            return None
        values = Collected(frame, Results(self.results).runs).values(metric.name)
        better = (100 if metric.is_score else 1) * (-1 if metric.lower_is_better else 1)
        ahead = frame.assign(value=better * frame["run_id"].map(values))
        by = ahead.groupby(["dataset", "partition", "seed", "method"])
        return leads(by["value"].last().unstack("method"), "FedAvg")

    def train(self, cores: str, methods: str = "all", **config: object) -> None:
        """Restore or train what some methods lack, and report; says how many runs that was."""
        chosen, restored = self.plan.to_train(methods), 0
        # those of scale demo come with fedbench, below `workflow`
        for folder in (PUBLISHED, project() / PUBLISHED, project() / SHIPPED):
            restored += restore_missing(self.plan, self.name, self.results, folder)
        runs = Results(self.results)
        before = runs.finished(self.plan.runs) & chosen.runs.keys()
        asked = {"papers": self.name, "scale": self.plan.scale, "train": methods}
        reproduce(cores, **asked, results=self.results, reports=self.reports, **config)
        finished = runs.finished(self.plan.runs)
        words = f"{len((finished & chosen.runs.keys()) - before):,} runs trained"
        words += f", {restored:,} restored" if restored else ""
        names = {str(cell.coords["method"]) for cell in self.plan.cells}
        shown = {str(cell.coords["method"]) for cell in self.plan.cells if cell.run_id in finished}
        if absent := len(names - shown):
            words += f"; {absent} of {len(names)} methods have no run at this scale yet, which "
            words += f"`fedbench {self.name} --scale {self.plan.scale}` trains"
        print_line(f"{words}.")
