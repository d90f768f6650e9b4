"""The pieces of the site that are made from the code, and that each page is reached."""

import re
import tomllib
from dataclasses import dataclass

import pytest
import yaml
from matplotlib import pyplot as plt

import fedbench
from docs.build import missing, relinked, strangers
from docs.generate import commands, entries, findings, metrics, notebook, schemas
from docs.generate.markdown import escaped, prose, table
from docs.generate.pieces import filled, pieces, places, ranges
from fedbench.base import registry
from fedbench.jobs.export_and_restore import export
from fedbench.plan.plan import make_plan
from fedbench.spec import RunSpec
from tests.jobs.made_runs import finish
from tests.project import ROOT

PAGES = {
    file.relative_to(ROOT / "docs").as_posix(): file.read_text(encoding="utf-8")
    for file in sorted((ROOT / "docs").rglob("*.md"))
}


def test_each_piece_stands_on_one_page_and_each_place_has_a_piece(tmp_path):
    named = [place for page in PAGES.values() for place in places(page)]
    assert sorted(named) == sorted(pieces(tmp_path))


def test_every_page_is_in_the_navigation():
    project = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]

    def files(nav):
        for entry in nav:
            for target in entry.values():
                yield from files(target) if isinstance(target, list) else [target]

    assert sorted(files(project["nav"])) == sorted([*PAGES, "contributing.md"])


def test_every_public_name_is_on_the_page_about_python():
    page = PAGES["reference/api.md"]
    shown = set(re.findall(r"^::: fedbench\.(\w+)$", page, re.MULTILINE))
    assert shown | {"State", "Gradient", "__version__"} == set(fedbench.__all__)


def test_every_setting_has_a_row_with_range_default_and_meaning():
    rows = {row.split(" | ")[0].strip("| `"): row for row in schemas.settings().splitlines()}
    assert set(RunSpec.model_fields) <= rows.keys()
    assert rows["lr"] == (
        "| `lr` | a number > 0 | `0.1` | The learning rate of the first round; that of round t is "
        r"lr·lr\_decay^t. |"
    )
    assert rows["epochs"].startswith(
        "| `epochs` | a whole number ≥ 1, ≤ 1,000,000 or null | `null`"
    )
    assert rows["share"].split(" | ")[1:3] == ["a number > 0, < 1", "`0.1`"]  # of `tune`
    assert rows["tune"].split(" | ")[1] == "[Tune](#tune) or null"
    assert [rows[name].split(" | ")[2] for name in ("dataset", "clip", "nesterov", "betas")] == [
        "`digits`", "`null`", "`false`", "`[0.9, 0.999]`",
    ]  # fmt: skip


@pytest.mark.parametrize("make", [schemas.settings, schemas.paper, schemas.scale])
def test_every_field_of_every_file_has_a_meaning(make):
    rows = [row.strip("| ").split(" | ") for row in make().splitlines() if row.startswith("| `")]
    assert [row[0] for row in rows if len(row) < 4] == []


def test_what_is_allowed_by_hand():
    assert schemas.allowed({"type": "integer", "minimum": 1}) == "a whole number ≥ 1"
    several = {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]}
    assert schemas.allowed(several) == "`a` or `b` or null"
    mapping = {"type": "object", "additionalProperties": {"$ref": "#/$defs/Grid"}}
    assert schemas.allowed(mapping) == "a mapping of names to [Grid](#grid)"


def test_the_settings_of_the_workflow_are_all_described():
    rows = re.findall(r"^\| `(\w+)` \|", PAGES["howto/reproduce.md"], re.MULTILINE)
    assert rows == list(yaml.safe_load((ROOT / "workflow/config.yaml").read_text()))


def test_a_method_by_hand():
    text = entries.parts()
    start = text.index("### fedprox\n")
    section = text[start : text.index("### ", start + 5)]
    assert "Pull each local model towards the global one: g + μ (y − x\\_t)." in section
    assert "MLSys 2020" in section
    assert "| `mu` | a number ≥ 0 | `0.01` | 0 is FedAvg |" in section
    assert "* Hooks: `grad`, `decay`" in section
    assert "* Cost beyond FedAvg: none" in section
    assert text.count("### ") == len(registry.entries("method"))
    assert "| **FedADC+** | fedadc(variant=red) + selfconfidence |" in entries.named_methods()


@pytest.mark.parametrize("kind", sorted(set(registry.KINDS) - {"method"}))
def test_every_entry_has_a_section(kind):
    assert entries.entries(kind).count("## ") == len(registry.entries(kind))


def test_comments_at_fields_by_hand():
    @dataclass(frozen=True)
    class Sample:
        """Text."""

        # above,
        # in two lines
        first: int = 1  # and behind
        second: int = 2

    assert entries.comments(Sample) == {"first": "above, in two lines and behind", "second": ""}


def test_a_command_by_hand():
    text = commands.commands()
    assert text.startswith("## Compare methods and check papers\n\n### fedbench arena\n")
    assert (
        text.index("### fedbench run\n")
        < text.index("## Steps that")
        < text.index("### fedbench train\n")
    )
    assert "fedbench run [OPTIONS] {spec}" in text
    assert "| `--out` | required | Folder for the run" in text
    assert "| `--device` | `auto` |" in text


def test_metrics_by_hand():
    assert "| `accuracy` | Accuracy | fraction | higher |" in metrics.scores()
    assert "| `train_seconds` | Time to train | s | lower |" in metrics.engine()
    assert "### From the probe changes\n" in metrics.probes()
    assert (
        "| `changes/change` | Change of accuracy | percentage points | higher |" in metrics.probes()
    )


def test_ranges_by_hand():
    assert "| `BelowOne` | a number ≥ 0, &lt; 1 |" in ranges()


def test_what_was_published_is_told_and_nothing_is_said_in_words(tmp_path):
    assert findings.findings(tmp_path) == "No results have been published yet."
    plan = make_plan(ROOT / "workflow", findings.SCALE, ("digits",))
    for run_id, spec in plan.runs.items():  # IID clients end at 0.9, skewed ones at 0.5
        finish(tmp_path / "made", spec, 0.5 if "dl" in run_id else 0.9)
    export(plan, "digits", tmp_path / "made", tmp_path / "results/published")
    overview, *told = findings.findings(tmp_path).split("\n\n")
    names, _, row = overview.splitlines()
    assert names == (
        "| paper | supported | not supported | undecided | not tested | under our reading: "
        "supported | under our reading: not supported | under our reading: undecided | runs "
        "published | core hours |"
    )
    there = len(plan.runs)
    assert row.startswith("| [digits](#digits) | ")
    assert row.endswith(f"| {there} of {there} | {1.5 * there / 3600:.1f} |")
    assert told[0].endswith("{ #digits }")
    assert "Skew" in told[0]
    line = next(x for x in told[-1].splitlines() if "skewed clients" in x)
    assert "| supported" in line
    assert "+40.00 points" in line


def test_the_findings_of_a_paper_begin_in_short():
    plan = make_plan(ROOT / "workflow", findings.SCALE, ("rmfl",))
    heading, short, *_ = findings._paper(plan, "rmfl", [])
    assert heading.endswith("{ #rmfl }")
    names = [line.partition(".**")[0] for line in short.splitlines()]
    assert names == ["* **Agrees", "* **Otherwise here", "* **Why"]


def test_marks_and_tables_by_hand():
    assert escaped("x_t < `a_b` [1]") == r"x\_t &lt; `a_b` \[1\]"
    assert prose("One\nline.\n\nTwo.") == "One line.\n\nTwo."
    assert prose("So:\n\n r1   a_k + b\n lit  as printed") == (
        "So:\n\n* `r1`: a\\_k + b\n* `lit`: as printed"
    )
    assert prose("A line  with a gap\nand one without.") == "A line with a gap and one without."
    assert table(("a", "b"), [("1", "2\n3")]) == "| a | b |\n| --- | --- |\n| 1 | 2 3 |"
    assert filled("x\n{{ one }}\n", {"one": lambda: "1"}) == "x\n1\n"
    with pytest.raises(KeyError):
        filled("{{ two }}", {})


def test_links_fit_the_site():
    from pathlib import Path

    file, place = ROOT / "docs/howto/x.md", Path("howto/x.md")
    text = "[a](../speed.md#now) [b](../../CONTRIBUTING.md#rules) [c](https://x.y) [d](#e)"
    wanted = "[a](../speed.md#now) [b](../contributing.md#rules) [c](https://x.y) [d](#e)"
    assert relinked(text, file, place) == wanted
    text = "![s](../benchmarks/results/speed.svg)"
    assert relinked(text, ROOT / "docs/speed.md", Path("speed.md")) == text.replace("../", "")


def test_what_a_page_would_load_from_elsewhere_is_named(tmp_path):
    (tmp_path / "a.html").write_text('<a href="https://x.y">fine</a><img src="pictures/a.png">')
    assert strangers(tmp_path) == []
    (tmp_path / "b.html").write_text('<p><script async src="//x.y/z.js"></script>')
    assert strangers(tmp_path) == ['b.html: <script async src="//x.y/z.js">']


def test_a_picture_that_is_not_there_is_named(tmp_path):
    (tmp_path / "a.svg").touch()
    (tmp_path / "a.html").write_text('<img alt="x" src="a.svg"><img src=b.svg>')
    assert missing(tmp_path) == ["a.html: b.svg"]


def test_cells_of_a_notebook_by_hand(tmp_path):
    text = "# ---\n# x\n# ---\n\n# %% [markdown]\n# # T\n#\n# Text.\n\n# %%\nprint(1 + 1)\n"
    assert list(notebook.cells(text)) == [("markdown", "# T\n\nText."), ("code", "print(1 + 1)")]
    plt.figure()  # left open by whoever ran before
    assert notebook.page(tmp_path, text) == (
        '# T\n\nText.\n\n```python\nprint(1 + 1)\n```\n\n```text title="prints"\n2\n```'
    )


def test_the_notebook_runs_and_draws(tmp_path):
    text = notebook.page(tmp_path)
    assert "![Figure 1 of the notebook](notebook-1.svg)" in text
    assert (tmp_path / "notebook-1.svg").stat().st_size > 1000
    last = re.findall(r"^15 +(.+)$", text, re.MULTILINE)[0].split()
    assert min(float(value) for value in last) > 0.5  # every run has learned
    assert "classes per client: " in text
