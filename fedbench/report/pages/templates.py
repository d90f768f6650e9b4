"""The templates of the pages, filled with what they show."""

import re
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup, escape

from fedbench.report.claims.page import FILTERS, plots
from fedbench.report.pages.tables_and_figures import FRONT, TableOnPage, board
from fedbench.report.tables.export import ABSENT, POOLED, TUNED_NEAR_CHANCE, change
from fedbench.report.tables.facts import shown
from fedbench.report.template_words import FOLDER, environment, say
from fedbench.report.values import numbers

PUBLISHED = "cpu"  # the scale of the runs that `findings` and `in_short` in papers' files are about


def filled(template: str, **shown_on_it: Any) -> str:
    """The HTML of a page, from the template of that name."""
    return _templates().get_template(f"{template}.html.j2").render(shown_on_it)


def code(text: str) -> Markup:
    """Text of a YAML file, escaped for HTML; text in back-ticks becomes code."""
    return Markup(re.sub("`([^`]*)(`|$)", r"<code>\1</code>", str(escape(text))))  # noqa: S704


def labelled(svg: str, title: str) -> Markup:
    """An SVG of ours, with a title for readers who do not see it."""
    start, end = svg.split("<svg", 1)
    return Markup(f'{start}<svg role="img" aria-label="{escape(title)}"{end}')  # noqa: S704


@cache
def _templates() -> jinja2.Environment:
    made = environment(FOLDER, FOLDER.with_name("assets"), autoescape=True)
    made.policies["json.dumps_kwargs"] = {"sort_keys": False}  # methods keep their order
    made.filters |= {"shown": shown, "code": code, "labelled": labelled}
    made.globals |= {"change": change, "filters": FILTERS, "say": say, "plots": plots}
    made.globals |= {"untested": numbers.UNTESTED, "pooled_title": POOLED, "absent_title": ABSENT}
    made.globals |= {"tuned_near_chance": TUNED_NEAR_CHANCE, "shown_rows": FRONT}
    made.globals |= {"board": board, "published": PUBLISHED}
    made.tests["table"] = lambda item: isinstance(item, TableOnPage)
    return made
