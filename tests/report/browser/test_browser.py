"""The report as a reader has it: opened from disk in a browser, without a network."""

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.project import ROOT
from tests.report.browser.conftest import Reader

AXE = gzip.decompress(Path(__file__).with_name("axe.min.js.gz").read_bytes()).decode()
PAGES = ("index.html", "toy.html", "methods/b-plus.html", "run.html")


def run_of(report: Path) -> str:
    """The id of a run in the report."""
    script = min((report / "runs").glob("*.js")).read_text(encoding="utf-8")
    return str(min(json.loads(script.strip().removeprefix("showRuns(")[:-2])["runs"]))


def address(reader: Reader, page: str) -> str:
    return f"{page}#{run_of(reader.report)}" if page == "run.html" else page


@pytest.mark.parametrize("page", PAGES)
def test_opens_without_errors_and_asks_no_host(reader: Reader, page: str) -> None:
    reader.open(address(reader, page))
    reader.page.wait_for_load_state("networkidle")
    assert reader.errors == []
    assert [url for url in reader.asked if not url.startswith(("file:", "data:", "about:"))] == []


@pytest.mark.parametrize("page", PAGES)
def test_readers_of_all_kinds_can_use_it(reader: Reader, page: str) -> None:
    reader.open(address(reader, page))
    reader.page.evaluate(AXE)
    found = reader.page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
    serious = [x for x in found if x["impact"] in ("serious", "critical")]
    assert [(x["id"], [node["html"][:200] for node in x["nodes"][:3]]) for x in serious] == []


def test_all_pictures_load(light: Reader) -> None:
    for page in ("index.html", "toy.html"):
        light.open(page)
        light.page.evaluate("document.querySelectorAll('img').forEach(x => x.loading = 'eager')")
        light.page.wait_for_function("[...document.images].every(x => x.complete)")
        broken = "[...document.images].filter(x => !x.naturalWidth).map(x => x.src)"
        assert light.page.evaluate(broken) == []
        assert light.page.locator("img").count() > 0


def numbers(page: Any, table: str) -> list[list[float]]:
    """The numbers in the last column, by body of the table."""
    return page.evaluate(
        """table => [...document.querySelectorAll(table + ' tbody')].map(body =>
        [...body.rows].filter(x => !x.className.includes('group')).map(x =>
        parseFloat([...x.cells].at(-1).textContent)))""",
        table,
    )


def test_a_table_sorts_by_mouse_and_keyboard_with_its_heads(light: Reader) -> None:
    page = light.open("toy.html")
    head = page.locator("#long thead tr:last-child th").last
    before = numbers(page, "#long table")
    assert before == [[61.0, 51.0, 71.0, 61.0, 51.0, 71.0]] * 2
    head.click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert numbers(page, "#long table") == [[51.0, 51.0, 61.0, 61.0, 71.0, 71.0]] * 2
    head.focus()
    page.keyboard.press("Enter")
    assert numbers(page, "#long table")[0] == [71.0, 71.0, 61.0, 61.0, 51.0, 51.0]
    heads = page.locator("#long tbody").first.locator("tr:not(.group) th:first-child")
    assert sorted(heads.all_text_contents()) == ["0.1"] * 3 + ["1"] * 3


def test_every_table_sorts(light: Reader) -> None:
    for name in ("index.html", "toy.html"):
        page = light.open(name)
        page.evaluate("document.querySelectorAll('details').forEach(x => x.open = true)")
        assert page.locator("table:not(.sorts)").count() == 0
        for table in page.locator("table.sorts").all():
            head = table.locator("thead tr:last-child th").last
            head.click()
            assert head.get_attribute("aria-sort") == "ascending"


def test_rows_are_filtered_by_words(light: Reader) -> None:
    page = light.open("toy.html")
    page.locator("#long .filter").fill("digits trick")
    rows = page.locator("#long tbody tr:not(.group):visible")
    assert rows.count() == 2
    assert page.locator("#long tbody:visible").count() == 1


def test_claims_are_filtered_by_the_address_alone(light: Reader) -> None:
    page = light.open("toy.html#claims-here-not-supported")
    assert page.locator(".claim:visible").count() == 1
    page.locator(".filters .all").click()
    assert page.locator(".claim:visible").count() == 3


def test_a_run_is_two_clicks_from_the_top_of_a_page(light: Reader) -> None:
    page = light.open("toy.html")
    page.locator("#claim-better summary").click()
    page.locator("#claim-better .runs a").first.click()
    page.wait_for_selector("#run h1")
    assert page.locator("#run h1").text_content() == page.url.partition("#")[2]
    assert "100 s, on 2026-11-23 01:02:03 UTC" in str(page.locator("#run dl").first.text_content())
    assert "Accuracy (%):" in str(page.locator("#run figcaption").first.text_content())
    assert page.locator("#run a", has_text="Folder of the run").count() == 1
    settings = str(page.locator("#run dl").last.text_content())
    assert "lr0.3 (chosen by the search; 0.03 in the file)" in settings


def test_numbers_beside_a_runs_curve_are_brief(light: Reader) -> None:
    page = light.open("run.html")
    said = page.evaluate("[84.48, 0.01656, -0.091244, 0.0000003154, 0, 123456].map(brief)")
    assert said == ["84.5", "0.0166", "-0.0912", "3.2e-7", "0", "1.2e+5"]


def test_an_unknown_run_is_said_to_be_missing(light: Reader) -> None:
    for name in (
        "run.html",
        "run.html#none",
        "run.html#toy-s0-0123456789a0",
        "run.html#__proto__a",
    ):
        page = light.open(name)
        page.wait_for_selector("#run p")
        assert page.locator("#run dl").count() == 0


def test_curves_tell_their_values_and_hide(light: Reader) -> None:
    page = light.open("toy.html")
    svg, chips = page.locator("#f > svg"), page.locator("#f .series button")
    svg.scroll_into_view_if_needed()
    svg.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#f .series > span").first.text_content() == "MNIST, round 4"
    assert [x.strip() for x in chips.all_text_contents()] == ["A61", "B+51", "trick71"]
    assert page.locator("#f .spoken").text_content() == "MNIST, round 4: A 61, B+ 51, trick 71"
    page.keyboard.press("ArrowLeft")
    assert str(chips.first.text_content()).strip() == "A45.75"
    chips.first.click()
    assert not page.locator("[id='f-panel-0-0']").is_visible()
    assert page.locator("[id='f-panel-0-1']").is_visible()


def test_buttons_show_the_lines_of_the_legend_in_its_place(light: Reader) -> None:
    page = light.open("toy.html")
    legend, bar = page.locator("[id='f-legend_1']"), page.locator("#f .series")
    assert page.locator("#f .series button svg path").count() >= 3
    assert not legend.is_visible()
    above, below = page.locator("[id='f-panel-0']").bounding_box(), bar.bounding_box()
    svg = page.locator("#f > svg").bounding_box()
    assert above["y"] + above["height"] <= below["y"] < svg["y"] + svg["height"]
    page.emulate_media(media="print")
    assert legend.is_visible()


def test_a_legend_that_names_more_than_the_buttons_stays(light: Reader) -> None:
    page = light.open("toy.html")
    page.evaluate("""() => {
      const figure = document.querySelector('#f');
      figure.querySelector('.series').remove();
      figure.querySelector('.doubled').classList.remove('doubled');
      figure.querySelector('[id$=legend_1] text').textContent = 'not drawn (0 of 3 seeds)';
    }""")
    page.add_script_tag(path=ROOT / "fedbench/report/assets/curves.js")
    assert page.locator("#f .series button").count() == 3
    assert page.locator("[id='f-legend_1']").is_visible()


def test_the_value_under_the_pointer_is_that_of_the_nearest_round(light: Reader) -> None:
    page = light.open("toy.html")
    svg = page.locator("#f > svg")
    svg.scroll_into_view_if_needed()
    page.locator(
        "#side-by-side .picture svg"
    ).first.wait_for()  # what is above it has its height now
    line = page.locator("[id='f-panel-1-0']").bounding_box()
    box = svg.bounding_box()
    assert line
    assert box
    page.mouse.move(line["x"] + line["width"] / 3, line["y"] + line["height"] / 2)
    assert page.locator("#f .series > span").first.text_content() == "Digits, round 2"


def test_all_inside_links_resolve(light: Reader) -> None:
    links = "[...document.querySelectorAll('a[href]')]"
    collect = f"{links}.map(x => x.href.replace(/[?].*#/, '#').split('#'))"
    ids = "[...document.querySelectorAll('[id]')].map(x => x.id)"
    root = light.report.as_uri()
    links = {name: light.open(name).evaluate(collect) for name in PAGES[:3]}
    there = {f"{root}/{name}": set(light.open(name).evaluate(ids)) for name in PAGES[:3]}
    for target, *place in (link for of_page in links.values() for link in of_page):
        path = Path(target.removeprefix("file://"))
        assert path.exists(), target
        if place and target in there:
            assert place[0] in there[target], f"{target}#{place[0]}"


def test_nothing_is_wider_than_a_phone(light: Reader) -> None:
    light.page.set_viewport_size({"width": 420, "height": 900})
    for name in PAGES:
        page = light.open(address(light, name))
        assert page.evaluate("document.documentElement.scrollWidth") <= 420, name


def test_a_table_that_hides_columns_fades_at_its_end(light: Reader) -> None:
    light.page.set_viewport_size({"width": 400, "height": 900})
    page = light.open("toy.html")
    region, mask = page.locator("#t .scroll"), "x => getComputedStyle(x).maskImage"
    page.locator("#t table").evaluate("x => { x.style.width = '900px'; }")
    page.wait_for_selector("#t .scroll.more")
    assert "gradient" in region.evaluate(mask)
    region.evaluate("x => x.scrollTo(x.scrollWidth, 0)")
    page.wait_for_selector("#t .scroll.moved:not(.more)")
    assert region.evaluate(mask) == "none"
    assert page.locator("#long .scroll").get_attribute("class") == "scroll"  # it hides nothing


def test_the_title_of_a_group_moves_along(light: Reader) -> None:
    page = light.open("toy.html")  # 1280 pixels: the region has 1000 of them
    region = page.locator("#t .scroll")
    page.locator("#t table").evaluate("x => { x.style.width = '1240px'; }")
    region.evaluate("x => x.scrollTo(x.scrollWidth, 0)")
    title, frame = page.locator("#t .group .stick").first.bounding_box(), region.bounding_box()
    assert title["x"] >= frame["x"]


def test_short_heads_leave_a_phone_room_for_numbers(light: Reader) -> None:
    light.page.set_viewport_size({"width": 400, "height": 900})
    head = light.open("toy.html").locator("#long tbody th.lead").first  # 'α = 1'
    box = head.bounding_box()
    assert box
    assert box["width"] < 80


def test_a_table_that_is_too_wide_has_its_deviations_below_and_says_that_there_is_more(
    light: Reader,
) -> None:
    page = light.open("toy.html")
    region, further = page.locator("#t .scroll"), page.locator("#t .further")
    shown = "x => getComputedStyle(x).display"
    assert region.locator(".pm").first.evaluate(shown) == "inline"
    assert not further.is_visible()
    page.locator("#t table").evaluate("x => { x.style.width = '900px'; }")
    page.set_viewport_size({"width": 420, "height": 900})
    page.wait_for_selector("#t .scroll.tight.more")
    assert region.locator(".pm").first.evaluate(shown) == "block"
    further.click()
    page.wait_for_selector("#t .scroll.moved")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.wait_for_selector("#t .scroll:not(.tight):not(.more)")
    assert not further.is_visible()


def test_a_table_stays_where_it_is_while_its_last_column_comes_into_view(light: Reader) -> None:
    light.page.set_viewport_size({"width": 420, "height": 900})
    page = light.open("toy.html")
    page.locator("#t table").evaluate("x => { x.style.width = '900px'; }")
    page.wait_for_selector("#t .scroll.more")
    top = "document.querySelector('#t .scroll').getBoundingClientRect().top + scrollY"
    before = page.evaluate(top)
    page.locator("#t .scroll").evaluate("x => x.scrollTo(x.scrollWidth, 0)")
    page.wait_for_selector("#t .scroll.moved:not(.more)")
    assert page.evaluate(top) == before
    assert not page.locator("#t .further").is_visible()


def test_pages_move_at_once(light: Reader) -> None:
    page = light.open("toy.html")
    page.emulate_media(reduced_motion="no-preference")
    behaviour = "getComputedStyle(document.documentElement).scrollBehavior"
    assert page.evaluate(behaviour) == "auto"


def test_a_long_list_of_what_is_left_out_needs_no_scrolling(light: Reader) -> None:
    page = light.open("index.html")
    last = page.locator("#runs td.prose").first
    last.evaluate("cell => { cell.textContent = 'Table 1; Fig. 2; '.repeat(40); }")
    outer, inner = (
        page.locator("#runs .scroll").evaluate(f"region => region.{width}Width")
        for width in ("client", "scroll")
    )
    assert inner <= outer


def test_curves_of_chosen_methods_are_drawn_and_the_address_keeps_them(light: Reader) -> None:
    page = light.open("toy.html#side-by-side?method=A")
    page.locator("#side-by-side .picture svg").first.wait_for()
    assert page.locator("#side-by-side .lines li").count() == 1
    box = page.locator("#side-by-side fieldset.method label").nth(1)
    other = box.text_content()
    box.locator("input").check()
    page.wait_for_function("document.querySelectorAll('#side-by-side .lines li').length === 2")
    assert "Accuracy (%)" in str(
        page.locator("#side-by-side .picture svg").first.get_attribute("aria-label")
    )
    page.reload()
    page.wait_for_function("document.querySelectorAll('#side-by-side .lines li').length === 2")
    assert other in str(page.locator("#side-by-side .lines").text_content())
    with page.expect_download() as csv:
        page.locator("#side-by-side .csv").click()
    rows = pd.read_csv(csv.value.path())
    assert [*rows][:5] == ["setting", "method", "round", "Round", "Accuracy (%)"]
    assert {*rows["method"]} == {"A", other}
    assert light.errors == []


def test_claims_are_filtered_by_words(light: Reader) -> None:
    page = light.open("toy.html")
    field = page.locator("#claims > input.filter")
    field.fill("above 40")
    assert page.locator("#claims .claim:visible").count() == 1
    field.fill("no such words")
    assert page.locator("#claims .claim:visible").count() == 0
