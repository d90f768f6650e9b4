"""A table of runs as LaTeX."""

import re
from functools import cache, lru_cache

from pylatexenc.latexencode import (
    RULE_DICT,
    RULE_REGEX,
    UnicodeToLatexConversionRule,
    UnicodeToLatexEncoder,
)

from fedbench.paper.items import Table
from fedbench.plan.substitutions import Substitutions
from fedbench.report.tables.layout import TableLayout
from fedbench.report.tables.rows import Group, Row
from fedbench.report.tables.said import Said, absent, heads, pooled, said
from fedbench.report.values.numbers import UNTESTED
from fedbench.report.words import say

_OURS = {
    ord("|"): r"\ensuremath{|}", ord("✓"): r"\ensuremath{\checkmark}", ord("✗"): r"\texttimes{}",
    ord("′"): r"\ensuremath{'}",
}  # fmt: skip
_ACCENTS = [  # a letter with a mark of its own behind it, as in v̄
    (re.compile("(.)\u0304"), r"\\ensuremath{\\bar{\1}}"),
    (re.compile("(.)\u0302"), r"\\ensuremath{\\hat{\1}}"),
]


@lru_cache(maxsize=10_000)
def escape(text: str) -> str:
    """Text of which LaTeX, pdflatex included, prints every character as it stands.

    What it has no letter for stands as its number in Unicode, such as [U+1F600].
    """
    escaped: str = _encoder().unicode_to_latex(text)
    return escaped


@cache
def _encoder() -> UnicodeToLatexEncoder:
    return UnicodeToLatexEncoder(
        conversion_rules=[
            UnicodeToLatexConversionRule(RULE_REGEX, _ACCENTS),
            UnicodeToLatexConversionRule(RULE_DICT, _OURS),
            "defaults",
        ],
        replacement_latex_protection="braces-after-macro",
        unknown_char_policy=lambda letter: f"[U+{ord(letter):04X}]",
        unknown_char_warning=False,
    )


def to_latex(label: str, table: Table, layout: TableLayout, caption: str) -> str:
    """The table as a `table` environment; the document must use booktabs and graphicx."""
    width = len(layout.heads) + sum(len(block.columns) for block in layout.blocks)
    spec = "l" * len(layout.heads) + "r" * (width - len(layout.heads))
    lines = [
        r"% needs \usepackage{booktabs,graphicx}",
        r"\begin{table}",
        r"\centering\small",
        rf"\caption{{{escape(' '.join([caption, *_remarks(layout)]))}}}",
        rf"\label{{tab:{label}}}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{spec}}}",
        r"\toprule",
        *_header(layout),
        *(line for group in layout.groups for line in _group(group, layout, table, width)),
        r"\bottomrule",
        r"\end{tabular}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _remarks(layout: TableLayout) -> list[str]:
    """What cells have together and what was substituted, each remark once, for the caption."""
    notes = {mark: _swapped(layout.note(found)) for found, mark in layout.notes.items()}
    remarks = [f"{UNTESTED.capitalize()}: {_swapped(layout.common)}."] if layout.common else []
    remarks += [f"({mark}) {UNTESTED}: {text}." for mark, text in notes.items()]
    named = [f"{names}: {UNTESTED} ({_swapped(found)})." for names, found in layout.named]
    return [*filter(None, [absent(layout), pooled(layout)]), *named, *remarks]


def _swapped(found: Substitutions) -> str:
    return say("scale.substitutions", found)


def _header(layout: TableLayout) -> list[str]:
    cells, rules, at = [""] * len(layout.heads), [], len(layout.heads) + 1
    for block in layout.blocks:
        end = at + len(block.columns) - 1
        cells.append(rf"\multicolumn{{{len(block.columns)}}}{{c}}{{{block.title}}}")
        rules.append(rf"\cmidrule(lr){{{at}-{end}}}")
        at = end + 1
    names = [escape(head) for head in layout.heads]
    names += [escape(c.label or "all") for block in layout.blocks for c in block.columns]
    return [_row(cells), " ".join(rules), _row(names)]


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _group(group: Group, layout: TableLayout, table: Table, width: int) -> list[str]:
    title = rf"\multicolumn{{{width}}}{{l}}{{\textbf{{{escape(group.title)}}}}} \\"
    head = [r"\midrule", title] if group.title else [r"\midrule"]
    return head + [_row(_cells(row, layout, table)) for row in group.rows]


def _cells(row: Row, layout: TableLayout, table: Table) -> list[str]:
    pairs = [(block, column) for block in layout.blocks for column in block.columns]
    cells = [said(block, row.cells.get(column.point), layout, table) for block, column in pairs]
    return [*map(escape, heads(row)), *map(_cell, cells)]


def _cell(cell: Said) -> str:
    mean = escape(cell.value)
    text = rf"\textbf{{{mean}}}" if cell.best else mean
    text += rf" $\pm$ {escape(cell.deviation)}" if cell.deviation else ""
    return text + (rf"\textsuperscript{{{', '.join(cell.flags)}}}" if cell.flags else "")
