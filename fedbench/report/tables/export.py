"""What tables say as texts, and tables as files by pandas: safe CSV, LaTeX and Markdown."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import pandas as pd
from pylatexenc import latexencode

from fedbench.paper.metrics import Metric
from fedbench.paper.tables_and_figures import Table
from fedbench.report.tables.cells import TableCell
from fedbench.report.tables.layout import Block, TableLayout
from fedbench.report.template_words import say
from fedbench.report.values.numbers import UNTESTED, fixed, signed

POOLED = (
    "Standard deviation over seeds, pooled over the cells without a diverged run "
    "(degrees of freedom)"
)
TUNED_NEAR_CHANCE = "chosen near chance"
ABSENT = "Not listed, because no run is finished"


class CellText(NamedTuple):
    """A number or a word; a deviation, if any; whether it is bold; remarks to stand behind."""

    value: str
    deviation: str = ""
    bold: bool = False
    flags: tuple[str, ...] = ()


class TextTable(NamedTuple):
    """A table of texts."""

    # group and title; neighbours of a group stand under its name
    columns: Sequence[tuple[str, str]]
    left: int  # of the columns, which hold the headings of rows
    rows: Sequence[Sequence[CellText]]  # the title of a group of rows stands alone in its row
    caption: str
    remarks: Sequence[str] = ()  # sentences that belong to the caption


def text_table(table: Table, layout: TableLayout, caption: str) -> TextTable:
    """A table of runs as texts; what cells share and what was substituted are its remarks."""
    pairs = [(block, point) for block in layout.blocks for point in block.columns]
    columns = [("", head) for head in layout.heads]
    columns += [(block.title, block.columns[point] or "all") for block, point in pairs]
    rows: list[list[CellText]] = []
    for group in layout.groups:
        rows += [[CellText(group.title, bold=True)]] if group.title else []
        for row in group.rows:
            cells = [(block, row.cells.get(point)) for block, point in pairs]
            heads = [text if span else "" for text, span in row.heads]  # else it stands above
            heads[-1:] = [f"{text} (control)" if row.control else text for text in heads[-1:]]
            texts = [_cell_text(block, cell, layout, table) for block, cell in cells]
            rows.append([*map(CellText, heads), *texts])
    remarks = [f"{ABSENT}: {'; '.join(layout.absent)}."] if layout.absent else []
    remarks += [f"{POOLED}: {'; '.join(layout.pooled)}."] if layout.pooled else []
    notes = [(name, say("scale.substitutions", found)) for name, found in layout.notes]
    remarks += [f"{name}: {UNTESTED} ({words})." for name, words in notes]
    return TextTable(columns, len(layout.heads), rows, caption, remarks)


def _cell_text(block: Block, cell: TableCell | None, layout: TableLayout, table: Table) -> CellText:
    if cell is None:
        return CellText("")
    if block.kind == "difference":
        return CellText("" if cell.difference is None else change(cell, table))
    stat = cell.printed if block.kind == "printed" else cell.measured
    if stat is None:
        return CellText("missing" if block.kind != "printed" and cell.awaited else "")
    mean = fixed(stat.mean, table.digits)
    deviation = "" if stat.std is None else fixed(stat.std, table.digits)
    if block.kind == "printed":
        return CellText(mean, deviation)
    # what a reader must know beside the number: the mark of a note, seeds missing or diverged
    flags = [f"({layout.marks[cell.substituted]})"] if cell.substituted in layout.marks else []
    flags += [f"{len(cell.measured_runs)}/{len(cell.runs)} seeds"] if cell.missing else []
    flags += [TUNED_NEAR_CHANCE] if cell.tuned_near_chance else []
    flags += [f"{cell.diverged} diverged"] if cell.diverged else []
    return CellText(mean, deviation, cell.best, tuple(flags))


def change(cell: TableCell, table: Table) -> str:
    """The difference in percentage points, or in the metric's unit if it is no score."""
    metric = Metric(cell.place.metric)
    points = (cell.difference or 0.0) * metric.points(table)
    return signed(points, metric.point_digits(table))


COLUMNS = (
    "paper", "table", "dataset", "setting", "method", "metric", "printed_mean", "printed_std",
    "measured_mean", "measured_std", "pooled_std", "pooled_freedom", "n_seeds", "n_diverged",
    "n_planned", "chosen_near_chance", "run_ids", "substituted", "data_note",
)  # fmt: skip
_COMMANDS = ("=", "+", "-", "@", "\t", "\r")  # what a formula of a spreadsheet begins with
_OURS = {
    ord("|"): r"\ensuremath{|}", ord("✓"): r"\ensuremath{\checkmark}", ord("✗"): r"\texttimes{}",
    ord("′"): r"\ensuremath{'}",
}  # fmt: skip
_ACCENTS = [  # a letter with a mark of its own behind it, as in v̄
    (re.compile("(.)\u0304"), r"\\ensuremath{\\bar{\1}}"),
    (re.compile("(.)\u0302"), r"\\ensuremath{\\hat{\1}}"),
]
_ENCODER = latexencode.UnicodeToLatexEncoder(
    conversion_rules=[
        latexencode.UnicodeToLatexConversionRule(latexencode.RULE_REGEX, _ACCENTS),
        latexencode.UnicodeToLatexConversionRule(latexencode.RULE_DICT, _OURS),
        "defaults",
    ],
    replacement_latex_protection="braces-after-macro",
    unknown_char_policy=lambda letter: f"[U+{ord(letter):04X}]",
    unknown_char_warning=False,
)
_LATEX = r"""% needs \usepackage{{booktabs,graphicx,amssymb}}
\begin{{table}}
\centering\small
\caption{{{caption}}}
\label{{tab:{label}}}
\resizebox{{\ifdim\width>\linewidth\linewidth\else\width\fi}}{{!}}{{%
{tabular}}}
\end{{table}}
"""


def tidy(paper: str, cells: list[TableCell], notes: Mapping[str, str]) -> pd.DataFrame:
    """One row per cell, as docs/howto/results.md has it; `notes` says what runs' data lack."""
    records = []
    for cell in cells:
        place, runs = cell.place, cell.measured_runs
        stats = [(x.mean, x.std) if x else (None, None) for x in (cell.printed, cell.measured)]
        where = (paper, place.table, place.dataset, place.setting, place.method, place.metric)
        pooled = (cell.pooled.std, cell.pooled.freedom) if cell.pooled else (None, None)
        lost = [run for run in runs if run.diverged]
        lacking = {run.seed for run in cell.runs if run.value is None}  # at some level of `over`
        planned = {run.seed for run in cell.runs}
        seeds = [len(some) for some in (planned - lacking, {run.seed for run in lost}, planned)]
        swapped = say("scale.substitutions", cell.substituted)
        noted = " ".join(dict.fromkeys(notes[run.id] for run in runs if run.id in notes))
        ids = ";".join(run.id for run in runs)
        about = (int(cell.tuned_near_chance), ids, swapped, noted)
        records.append((*where, *stats[0], *stats[1], *pooled, *seeds, *about))
    return pd.DataFrame(records, columns=list(COLUMNS))


def to_csv(frame: pd.DataFrame) -> str:
    """A frame as CSV in which no text, nor a column's name, is a formula."""
    words = frame.apply(lambda column: column.map(plain) if column.dtype.kind in "OUT" else column)
    text: str = words.rename(columns=plain).to_csv(
        index=False, float_format="%.10g", lineterminator="\n"
    )
    return text


def plain(value: object) -> object:
    """The value, an apostrophe before text that a spreadsheet would take for a formula."""
    if not isinstance(value, str) or not value.startswith(_COMMANDS):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def to_latex(table: TextTable, label: str) -> str:
    """The table as a `table` environment, its remarks in the caption."""
    heads = [tuple(map(latex, head)) for head in table.columns]
    grouped = any(group for group, _ in heads)
    titles = pd.Index([title for _, title in heads])
    frame = _frame(table, _latex_cell, pd.MultiIndex.from_tuples(heads) if grouped else titles)
    align = "l" * table.left + "r" * (len(heads) - table.left)
    style = frame.style.hide(axis="index")
    tabular = style.to_latex(column_format=align, hrules=True, multicol_align="c")
    caption = latex(" ".join(filter(None, [table.caption, *table.remarks])))
    return _LATEX.format(caption=caption, label=label, tabular=tabular.rstrip())


def _frame(table: TextTable, text: Callable[[CellText], str], heads: pd.Index) -> pd.DataFrame:
    rows = [dict(enumerate(map(text, row))) for row in table.rows]
    frame = pd.DataFrame(rows, columns=range(len(heads))).fillna("")
    return frame.set_axis(heads, axis="columns")


def _latex_cell(cell: CellText) -> str:
    value = latex(cell.value)
    text = rf"\textbf{{{value}}}" if cell.bold else value
    text += rf" $\pm$ {latex(cell.deviation)}" if cell.deviation else ""
    return text + (rf"\textsuperscript{{{latex(', '.join(cell.flags))}}}" if cell.flags else "")


@lru_cache(maxsize=10_000)
def latex(text: str) -> str:
    """Text that pdflatex prints as it stands; without a letter for it, as in [U+1F600]."""
    return str(_ENCODER.unicode_to_latex(text))


def to_markdown(table: TextTable) -> str:
    """The table for pages of a repository and for notes, with its caption and remarks below it."""
    names = [markdown(": ".join(filter(None, head))) for head in table.columns]
    frame = _frame(table, _markdown_cell, pd.Index(names))
    align = ["left"] * table.left + ["right"] * (len(names) - table.left)
    grid = frame.to_markdown(
        index=False, tablefmt="pipe", disable_numparse=True, colalign=align if len(frame) else None
    )
    below = (markdown(text) for text in (table.caption, *table.remarks) if text)
    return "\n\n".join([grid, *below]) + "\n"


def _markdown_cell(cell: CellText) -> str:
    value = f"**{markdown(cell.value)}**" if cell.bold else markdown(cell.value)
    deviation = f" ± {cell.deviation}" if cell.deviation else ""
    return value + deviation + (f" ({', '.join(cell.flags)})" if cell.flags else "")


def markdown(text: str) -> str:
    """Text that Markdown shows as it stands."""
    return re.sub(r"([\\`*_\[\]<>|#~])", r"\\\1", text)
