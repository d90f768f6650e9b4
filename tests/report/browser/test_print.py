"""The report on paper, as the browser prints it."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.report.answers_case import PAPER, written
from tests.report.browser.conftest import Reader
from tests.report.browser.test_browser import PAGES, address

PAPERS = {"A4": 680, "Letter": 702}  # pixels between margins of 15 mm, 96 to an inch
# Ten methods in the columns of a table: more than it has room for beside the printed numbers.
MORE = {f"FedProx, {mu}": mu for mu in range(1, 8)}
MANY = PAPER.replace(
    "    trick:",
    "".join(f"    '{k}': {{parts: [{{fedprox: {{mu: {v}}}}}]}}\n" for k, v in MORE.items())
    + "    trick:",
).replace("[A, B+, trick]", str(["A", "B+", *MORE, "trick"]))
# A claim that is longer than a page and begins below 70 mm of something else.
LONG = """() => {
  const claim = document.querySelector('#claim-better'), above = document.createElement('div');
  above.style.height = '70mm';
  document.querySelector('main').replaceChildren(above, claim);
  claim.querySelector('details').open = true;
  const body = claim.querySelector('tbody');
  for (const cell of body.rows[0].cells) cell.textContent = 'x';
  body.replaceChildren(...Array.from({length: 29}, () => body.rows[0].cloneNode(true)));
  for (const row of body.rows) row.style.height = '10mm';
}"""


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with a wide table, below whose measured numbers stand the printed ones."""
    return written(tmp_path_factory.mktemp("wide"), "full", MANY)


@pytest.fixture
def printer(light: Reader) -> Reader:
    """A reader whose pages look as on paper."""
    light.page.emulate_media(media="print")
    return light


def sheets(page: Any, paper: str) -> int:
    """How many sheets the page takes."""
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(format=paper)))


@pytest.mark.parametrize("paper", PAPERS)
def test_a_long_claim_begins_where_the_one_before_ends(light: Reader, paper: str) -> None:
    page = light.open("toy.html")
    page.evaluate(LONG)
    assert sheets(page, paper) == 2


def test_rows_figures_and_heads_are_kept_whole(printer: Reader) -> None:
    page = printer.open("toy.html")
    for part in (".claim .words", ".claim .show", "tbody tr", "figure", "h2"):
        style = "x => getComputedStyle(x).breakInside"
        assert page.locator(part).first.evaluate(style) == "avoid", part
    heads = "[...document.querySelectorAll('thead')].map(x => getComputedStyle(x).display)"
    assert set(page.evaluate(heads)) == {"table-header-group"}


@pytest.mark.parametrize("paper", PAPERS)
def test_nothing_is_wider_than_paper(printer: Reader, wide: Path, paper: str) -> None:
    printer.report = wide
    printer.page.set_viewport_size({"width": PAPERS[paper], "height": 900})
    assert printer.open("toy.html").locator("table.dense").count() > 0
    for name in PAGES:
        page = printer.open(address(printer, name))
        page.evaluate("document.querySelectorAll('details').forEach(x => x.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= PAPERS[paper], name


def test_what_only_a_screen_can_do_is_not_printed(light: Reader) -> None:
    page = light.open("toy.html")
    controls = page.locator(".toc, .files, .filter, .filters, .series, .guide, .evidence .runs")
    head = page.locator("#long thead tr:last-child th").last
    arrow = "x => getComputedStyle(x, '::after').content"
    head.click()
    page.locator("#f > svg").focus()
    page.keyboard.press("ArrowRight")
    page.locator("#claim-better summary").click()
    assert controls.locator("visible=true").count() > 5
    assert "↑" in head.evaluate(arrow)
    page.emulate_media(media="print")
    assert controls.locator("visible=true").count() == 0
    assert head.evaluate(arrow) == "none"


def test_a_hidden_curve_is_printed_as_its_legend_names_it(light: Reader) -> None:
    page = light.open("toy.html")
    curve = page.locator("[id='f-panel-0-0']")
    page.locator("#f .series button").first.click()
    assert not curve.is_visible()
    page.emulate_media(media="print")
    assert curve.is_visible()


def test_what_explains_the_page_is_printed_but_no_closed_list(light: Reader) -> None:
    page = light.open("toy.html")
    told = page.locator(".told > ul")
    assert told.count() > 1
    assert not any(x.is_visible() for x in told.all())
    page.emulate_media(media="print")
    assert all(x.is_visible() for x in told.all())
    assert page.locator(".claim details, header details").locator("visible=true").count() == 0
    assert not page.locator("td details ul").first.is_visible()
    said_in_cells = page.locator("td details:not(.alike)")
    said_once = page.get_by_text("behind each number")
    assert all(x.is_visible() for x in [*said_in_cells.all(), *said_once.all()])
    assert said_in_cells.count() + said_once.count()
    assert page.locator("td .alike").locator("visible=true").count() == 0


@pytest.mark.parametrize("name", PAGES)
def test_paper_is_never_dark(browser: Any, report: Path, name: str) -> None:
    colours = """[...document.querySelectorAll('*')].map(x => getComputedStyle(x)).map(
        x => [x.color, x.backgroundColor, x.borderTopColor, x.colorScheme].join())"""
    seen = []
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme)
        reader = Reader(context.new_page(), report)
        reader.page.emulate_media(media="print", color_scheme=scheme)
        seen.append(reader.open(address(reader, name)).evaluate(colours))
        context.close()
    assert seen[0] == seen[1]
