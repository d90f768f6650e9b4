"""The written report: pages that stand alone, LaTeX, and the same bytes each time."""

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pytest

from fedbench.base.files import read_text, write_text
from fedbench.plan.cost import Speeds
from fedbench.plan.plan import make_plan
from fedbench.report import build
from fedbench.report.figures.save import inline
from fedbench.report.figures.style import styles
from fedbench.report.site import _hours, code
from fedbench.report.tables.export import latex
from fedbench.report.values.numbers import fixed, signed
from fedbench.store import Results, write_frame
from tests.project import ROOT
from tests.report.claim_case import HEADER
from tests.report.report_case import FULL, SMALL, case, frame_of

CURVES = {0: [0.1, 0.5], 1: [0.8, 0.7], 2: [0.2]}


def report(
    folder: Path, scale: str, curves: dict[int, list[float]] = CURVES, copies: bool = True
) -> Path:
    plan = case(folder, scale, ("t", "f"))
    papers, results = folder / "workflow/papers", folder / "results"
    write_text(papers / "toy.printed.csv", HEADER + "t,MNIST,alpha=1,A,accuracy,50.00,2.00\n")
    write_frame(frame_of(plan, curves), Results(results).frame(scale, "toy"))
    for run in plan.runs:
        (results / "runs" / run).mkdir(parents=True, exist_ok=True)
    files = build(plan, results, folder / "reports", papers, copies=copies)
    assert all(file.is_file() for file in files)
    return folder / "reports" / scale


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report as printed, which tests only look at."""
    return report(tmp_path_factory.mktemp("full"), FULL)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report with another data set, which tests only look at."""
    return report(tmp_path_factory.mktemp("small"), SMALL)


def test_a_paper_of_which_nothing_was_run_says_so(tmp_path: Path) -> None:
    index = read_text(report(tmp_path, FULL, {}) / "index.html")
    assert "Not run yet: no run of its 36 is finished." in index  # 2 data sets, α, 3 methods, seeds
    assert "figures/toy/f.png" not in index
    planned, finished, spent, left = re.findall(r"<td>([\d.,]+)</td>", index)[:4]
    assert (planned, finished, spent, left) == ("36", "0", "0.0", "0.0")  # of two rounds


def test_hours_of_runs_that_papers_share_count_once(tmp_path: Path) -> None:
    case(tmp_path)
    twin = tmp_path / "workflow/papers/twin.yaml"
    write_text(twin, read_text(twin.with_name("toy.yaml")))
    plan = make_plan(tmp_path / "workflow", FULL)
    records = {run: {"seconds": {"train": 3600.0}} for run in list(plan.runs)[:30]}  # of 36
    alone, both = (_hours(plan, keys, records, Speeds()) for keys in (("toy",), plan.papers))
    assert alone == both
    assert both[0] == 30
    assert both[1] > 0


def test_writes_what_it_promises(full: Path) -> None:
    collected = pd.read_parquet(full.parents[1] / "results/full/toy.parquet")["run_id"]
    found = {file.relative_to(full).as_posix() for file in full.rglob("*") if file.is_file()}
    assert found == {
        "index.html", "toy.html", "run.html", "methods/a.html", "methods/b.html",
        "methods/control.html", "tables/toy/t.csv", "tables/toy/t.tex", "tables/toy/t.md",
        "figures/toy/f.csv", "figures/toy/f.svg", "figures/toy/f.png", "figures/toy/f.pdf",
        *(f"runs/{run[-1]}.js" for run in collected),
    }  # fmt: skip


@pytest.mark.parametrize("page", ["index.html", "toy.html", "methods/b.html", "run.html"])
def test_pages_need_no_network_and_their_links_resolve(full: Path, page: str) -> None:
    text = read_text(full / page)
    assert not re.search(r"""(src|href|url)\W{1,3}https?:""", text)
    ids = set(re.findall(r'\bid="([^"]+)"', text))
    links = re.findall(r'\b(?:xlink:)?href="([^"]+)"', text)
    assert links
    for link in links:
        name, _, place = unquote(link).partition("#")
        there = (full / page).parent / name.partition("?")[0]
        assert link.startswith("data:") or there.exists(), link
        if ".html" in name and place and name != "run.html":
            assert f'id="{place}"' in read_text(there), link
        assert name or place in ids, link


def test_without_copies_figures_stand_in_pages_and_tables_in_csv(tmp_path: Path) -> None:
    report(tmp_path, FULL)
    shown = report(tmp_path, FULL, copies=False)  # those of before would be of other numbers
    assert {x.suffix for x in shown.rglob("*") if x.is_file()} == {".html", ".js", ".csv"}
    assert read_text(shown / "toy.html").count("<svg role") == 1
    for page in shown.glob("*.html"):
        links = re.findall(r'(?:href|src)="((?:tables|figures)/[^"]+)"', read_text(page))
        assert [link for link in links if not (page.parent / link).is_file()] == []


def test_pages_of_other_papers_go_and_files_of_the_users_own_stay(tmp_path: Path) -> None:
    shown = report(tmp_path, SMALL)
    (shown / "mine.html").write_text("<title>Notes on fedbench</title>")
    (shown / "runs/mine.js").write_text("showRuns")
    toy = tmp_path / "workflow/papers/toy.yaml"
    text = read_text(toy).replace("control_%", "other_%")
    write_text(toy.with_name("twin.yaml"), text)
    plan = make_plan(tmp_path / "workflow", SMALL, ["twin"])
    build(plan, tmp_path / "results", tmp_path / "reports", tmp_path / "workflow/papers")
    pages = {file.relative_to(shown).as_posix() for file in shown.rglob("*.html")}
    assert pages == {
        "index.html", "twin.html", "run.html", "mine.html",
        "methods/a.html", "methods/b.html", "methods/other.html",
    }  # fmt: skip
    assert [file.name for file in (shown / "runs").iterdir()] == ["mine.js"]
    assert (shown / "tables/toy/t.csv").is_file()


def test_each_measured_cell_leads_to_its_runs(full: Path) -> None:
    text = read_text(full / "toy.html")
    assert len(re.findall(r'href="run.html#mnist-[^"]+"', text)) >= 3
    assert "1 diverged" in text
    assert "diverged at round 1" in text


def test_names_from_yaml_are_escaped(full: Path) -> None:
    text = read_text(full / "toy.html")
    assert "&lt;b&gt;</th>" in text
    assert "Toys &amp; &lt;i&gt;games&lt;/i&gt;" in text
    assert "a &lt; b &amp; c" in text
    assert "<b></th>" not in text


def test_what_a_scale_says_of_a_paper_stands_on_that_papers_page(full: Path, small: Path) -> None:
    assert "Small &amp; quick." in read_text(small / "index.html")
    page = read_text(small / "toy.html")
    scale = re.findall(r'<aside class="scale">.*?</aside>', page, re.DOTALL)
    assert len(scale) == 1
    assert "Small &amp; quick." in scale[0]
    assert "Digits &lt; MNIST" in scale[0]
    assert "Digits &lt; MNIST" not in read_text(full / "toy.html")


def test_backticks_become_code_and_all_else_is_escaped() -> None:
    assert code("a `b<` c & `d`") == "a <code>b&lt;</code> c &amp; <code>d</code>"
    assert code("<i>") == "&lt;i&gt;"


def test_difference_only_where_nothing_is_substituted(full: Path, small: Path) -> None:
    printed = read_text(full / "toy.html")
    changed = read_text(small / "toy.html")
    # 50, 70, 20 → 46.67; printed 50.00
    assert re.search(r'<td class="difference start">\s*−3\.33', printed)
    assert 'class="difference' not in changed
    assert "dataset digits in place of mnist" in changed
    assert "not tested at this scale" in changed
    assert "not tested at this scale" not in printed


def test_missing_runs_are_named_on_the_page(tmp_path: Path) -> None:
    plan = case(tmp_path, FULL, ("t", "f"))
    text = read_text(report(tmp_path, FULL, {0: [0.1, 0.5]}) / "toy.html")
    assert "1 of 3 seeds" in text
    gone = plan.select("toy", "main", {"dataset": "MNIST", "alpha": 1, "method": "A"})[1].run.id
    assert f"<code>{gone}</code>" in text


def test_a_report_of_nothing_shows_all_as_missing(tmp_path: Path) -> None:
    plan = case(tmp_path, FULL, ("t", "f"))
    build(plan, tmp_path / "none", tmp_path / "reports", tmp_path / "none")
    text = read_text(tmp_path / "reports/full/toy.html")
    assert f"{len(plan.runs)} of {len(plan.runs)} runs are missing" in text


def test_building_again_gives_the_same_bytes(tmp_path: Path) -> None:
    first = {f: f.read_bytes() for f in report(tmp_path, SMALL).rglob("*") if f.is_file()}
    _build_elsewhere(tmp_path)
    assert {file: file.read_bytes() for file in first} == first


def test_nothing_but_the_costs_of_methods_loads_torch(tmp_path: Path) -> None:
    free = (
        "import collections; from fedbench.report.pages import method;"
        "method.cost_of = lambda parts: {'fields': collections.Counter(), 'model': 1};"
    )
    _build_elsewhere(tmp_path, free, "assert 'torch' not in sys.modules")


def _build_elsewhere(folder: Path, before: str = "", after: str = "") -> None:
    """Build the report in another process."""
    code = (
        f"import sys; from pathlib import Path; sys.path.insert(0, sys.argv[2]);{before}"
        f"from tests.report import test_site as t; t.report(Path(sys.argv[1]), 'small');{after}"
    )
    subprocess.run([sys.executable, "-c", code, str(folder), str(ROOT)], check=True)


def test_latex_is_booktabs_and_names_the_substitution(small: Path) -> None:
    text = read_text(small / "tables/toy/t.tex")
    assert all(rule in text for rule in (r"\toprule", r"\midrule", r"\bottomrule"))
    assert "not tested at this scale (dataset digits in place of mnist)" in text
    assert r"control\_\%" in text
    assert r"\ensuremath{<}b\ensuremath{>}" in text
    assert r"46.67 $\pm$ 25.17\textsuperscript{1 diverged}" in text
    rows = [line for line in text.splitlines() if line.endswith(r"\\") and "multi" not in line]
    widths = {line.count("&") for line in rows}
    assert widths == {4}
    assert text.count("{") == text.count("}")


def test_escapes_for_latex() -> None:
    assert latex(r"50% & $x_1 {a}\~") == (r"50\% \& \$x\_1 \{a\}\textbackslash{}\textasciitilde{}")
    assert latex("1−β") == r"1\ensuremath{-}\ensuremath{\beta}"
    assert (
        latex("Σ‖v̄‖")
        == r"\ensuremath{\Sigma}\ensuremath{\Vert}\ensuremath{\bar{v}}\ensuremath{\Vert}"
    )
    assert latex("漢") == "[U+6F22]"


def test_numbers_as_text() -> None:
    assert fixed(None, 2) == "–"
    assert fixed(float("nan"), 2) == "not finite"
    assert [signed(x, 1) for x in (1.25, -0.31, -0.04)] == ["+1.2", "−0.3", "0.0"]


def test_methods_keep_their_look_and_differ() -> None:
    alone, together = styles(["RMFL"]), styles(["MFL", "RMFL", "V = 0", "MFL, scaled"])
    assert alone["RMFL"] == together["RMFL"]
    assert len(set(together.values())) == 4
    assert len({look.line for look in styles(["MFL", "RMFL"]).values()}) == 2


def test_an_inlined_figure_takes_the_pages_colours() -> None:
    svg = '<?xml?><svg xmlns="http://x" width="1pt" viewBox="0 0"><g id="a" fill="#1a1b1e"/></svg>'
    assert inline(svg, "f") == '<svg viewBox="0 0"><g id="f-a" fill="currentColor"/></svg>'
