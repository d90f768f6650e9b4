"""A browser that opens a toy report from disk, and notes what goes wrong on its pages."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report.answers_case import written

# A click on a page that is still scrolling may miss: nothing moves smoothly.
STILL = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"}


@pytest.fixture(scope="package")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("browser"), "small")


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="needs pip install -e '.[browser]'")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs the program chromium")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


class Reader:
    """A page of the report, with the errors it printed and the addresses it asked for."""

    def __init__(self, page: Any, report: Path) -> None:
        self.page, self.report = page, report
        self.errors: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda said: said.type == "error" and self.errors.append(said.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))

    def open(self, name: str) -> Any:
        """Open a page of the report, afresh also where only the part behind # differs."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.report.as_uri()}/{name}")
        return self.page


@pytest.fixture(params=["light", "dark"])
def reader(request: pytest.FixtureRequest, browser: Any, report: Path) -> Iterator[Reader]:
    context = browser.new_context(**STILL, color_scheme=request.param)
    yield Reader(context.new_page(), report)
    context.close()


@pytest.fixture
def light(browser: Any, report: Path) -> Iterator[Reader]:
    context = browser.new_context(**STILL)
    yield Reader(context.new_page(), report)
    context.close()
