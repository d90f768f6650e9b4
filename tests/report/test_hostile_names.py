"""Names that reach paths are plain; labels may be any text and are text wherever they arrive."""

import csv
import json
import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from fedbench.base.files import read_text, write_text
from fedbench.paper.scale import load_scale
from fedbench.plan.cost import Speeds, measured_speeds
from fedbench.plan.plan import make_plan
from fedbench.plan.plan_file import PlanFile, to_json
from fedbench.report import build
from fedbench.report.tables.export import latex, plain, to_csv
from fedbench.report.tables.facts import FactRow, FactTable
from fedbench.spec import RunSpec
from fedbench.store import RunFolder, state
from tests.plan.bare import bare_plan
from tests.project import PAPER
from tests.report.answers_case import PAPER as TOY
from tests.report.answers_case import written

IMAGE = 'f"><img src=x onerror=alert(1)>'
BAD = ["../../../evil", "..", ".", "", "a b", "a/b", "a\\b", IMAGE, "x$(touch hit)", "é", "x" * 201]
LABEL = (
    '=HYPERLINK("http://x")<img src=x onerror=alert(1)>\' onload=x & 50 % \\input{evil} #1'
    "</script><script>evil()</script></style>{{ evil }}"
)
CLAIM = """claims:
  c: {text: %s, table: table1, kind: greater, winner: FedAvg, loser: %s}
bibtex: %s
deviations: [%s]
findings: {%s: %s}
facts: {f: {title: %s, caption: %s, kind: {costs: {methods: [FedAvg]}}}}
"""


def project(folder, paper=PAPER, name="tiny", printed=None):
    write_text(folder / f"papers/{name}.yaml", paper)
    write_text(folder / "scales/paper.yaml", "about: As printed.\n")
    if printed is not None:
        write_text(folder / f"papers/{name}.printed.csv", printed)
    return folder


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@pytest.mark.parametrize("kind", ["grids", "tables", "figures", "facts", "claims"])
@pytest.mark.parametrize("name", BAD)
def test_a_key_that_is_no_name_is_refused_at_load(refuses, tmp_path, kind, name):
    if kind == "grids":
        paper = PAPER.replace("  main:", f"  {quoted(name)}:")
    elif kind in ("tables", "figures"):
        key = {"tables": "table1", "figures": "fig1"}[kind]
        paper = PAPER.replace(f"  {key}:", f"  {quoted(name)}:")
    else:
        paper = PAPER + f"{kind}: {{{quoted(name)}: {{}}}}\n"
    with refuses() as caught:
        make_plan(project(tmp_path, paper), "paper")
    assert "tiny.yaml" in str(caught.value)
    assert f"{kind}." in str(caught.value)
    assert "a name is up to 200 of the letters A-Z a-z 0-9 _ . -" in str(caught.value)


@pytest.mark.parametrize("name", ["a b", "x$(touch hit)", "<b>"])
def test_a_file_that_is_no_name_is_refused(refuses, tmp_path, name):
    with refuses(r"the file's name = .* is not allowed"):
        make_plan(project(tmp_path, name=name), "paper")
    (tmp_path / f"scales/{name}.yaml").write_text("about: Strange.\n")
    with refuses(r"the file's name = .* is not allowed"):
        load_scale(tmp_path, name)


def test_ids_and_papers_of_a_damaged_plan_name_no_other_folder(refuses, tmp_path):
    file = tmp_path / "plan.json"
    written = json.loads(to_json(bare_plan([])))
    file.write_text(json.dumps(written | {"runs": {"../../evil": {}}}))
    with refuses(r"plan.json: is no plan \(its lists: a name = '../../evil' is not allowed"):
        PlanFile(file)


def test_a_run_with_many_parts_fits_into_a_folders_name():
    parts = ["fedprox", "fedrs", "selfconfidence", "fedexp", "meanofselected", "fedsam"] * 6
    spec = RunSpec.model_construct(**{**RunSpec().__dict__, "parts": ()})
    assert len(spec.id) < 255
    long = RunSpec(parts=[{"fedprox": {"mu": 0.1}}]).model_copy(
        update={"parts": tuple(RunSpec(parts=[name]).parts[0] for name in parts)}
    )
    assert len(long.id) == 150 + len("-s0-") + 12


class _Live(HTMLParser):
    """Elements and attributes that a browser would see."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.scripts, self.inside = set(), set(), [], ""
        self.sources = set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.inside = tag
        self.sources |= {value for name, value in attrs if name == "src"}
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts.append(data)
            self.inside = ""


def test_a_label_of_any_text_is_text_in_page_table_and_figure(tmp_path):
    paper = PAPER.replace("Digits", quoted(LABEL)[1:-1].join(('"', '"')), 1)
    paper = paper.replace("dataset: [Digits]", f"dataset: [{quoted(LABEL)}]")
    paper = paper.replace("FedProx: {parts", f"{quoted(LABEL)}: {{parts")
    paper = paper.replace("[FedAvg, FedProx]", f"[FedAvg, {quoted(LABEL)}]")
    paper = paper.replace("A tiny paper", quoted(LABEL)).replace(
        "title: Table I,", f"title: {quoted(LABEL)}, caption: {quoted(LABEL)},"
    )
    paper = paper.replace("title: Fig. 1,", f"title: {quoted(LABEL)}, caption: {quoted(LABEL)},")
    paper = paper.replace("authors: Nobody", f"authors: {quoted(LABEL)}")
    paper += CLAIM % tuple(quoted(LABEL) for _ in range(8))
    project(tmp_path, paper)
    (tmp_path / "scales/paper.yaml").write_text(f"about: {quoted(LABEL)}\n", encoding="utf-8")
    plan = make_plan(tmp_path, "paper")
    build(plan, tmp_path / "results", tmp_path / "reports", tmp_path / "papers")
    shown = tmp_path / "reports/paper"
    live = _Live()
    for page in shown.rglob("*.html"):
        live.feed(read_text(page))
    assert not {name for name in live.attributes if name.startswith("on")}
    assert [text for text in live.scripts if "evil()" in text and r"\u003c" not in text] == []
    assert "x" not in live.sources
    assert len(list(shown.glob("methods/*.html"))) == 2
    with (shown / "tables/tiny/table1.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["dataset"] for row in rows} == {"'" + LABEL}
    tex = read_text(shown / "tables/tiny/table1.tex")
    assert r"\input" not in tex
    assert r"\textbackslash{}input\{evil\} \#1" in tex
    assert re.search(r"\\label\{tab:tiny-table1\}", tex)


def test_cells_are_never_formulas_and_numbers_stay():
    for text in ("=1+1", "+cmd", "-x", "@SUM(A1)", "\tx", "\rx"):
        assert plain(text) == "'" + text
    for value in (-1.5, "-1.5", "+2", "1e-3", None, "a=b", "'=x", True):
        assert plain(value) == value
    frame = pd.DataFrame({"text": ["=x", "y"], "number": [-0.5, 2.0]})
    assert to_csv(frame) == "text,number\n'=x,-0.5\ny,2\n"
    table = FactTable("=head", {"": ("@a",)}, (FactRow("-b", (-3,)), FactRow("c", ("+d",))))
    assert to_csv(table.frame()) == "'=head,'@a\n'-b,-3\nc,'+d\n"


def test_latex_reads_no_command_of_a_label():
    assert latex("\\a{b}$%&#_^~") == (
        r"\textbackslash{}a\{b\}\$\%\&\#\_\textasciicircum{}\textasciitilde{}"
    )


def test_a_damaged_record_says_nothing_of_speed_and_is_named_by_the_state_of_its_run(tmp_path):
    file = tmp_path / "runs/x/run.json"
    file.parent.mkdir(parents=True)
    for text in ("{", "[]", "{}", '{"resolved": {"model": 3}}', "1" * 5000, "\xff"):
        file.write_bytes(text.encode("latin-1"))
        assert measured_speeds(tmp_path) == Speeds()
        if text == "{" or not text.startswith("{"):  # the others say of no run that it has ended
            assert str(file) in state(RunFolder(file.parent)).why


def test_labels_are_text_in_what_scripts_read(tmp_path):
    shown = written(tmp_path, paper=TOY.replace("trick", quoted(LABEL)))
    page = read_text(shown / "toy.html")
    told = re.findall(r'class="readout">(.*?)</script>', page)
    labels = {
        line["label"] for text in told for panel in json.loads(text) for line in panel["lines"]
    }
    assert labels == {"A", "B+", LABEL}
    assert "<script>evil()" not in page
