"""What the pages tell a reader to type works, as far as `snippets.py` can tell."""

import re

import pandas as pd
import pytest

from fedbench.report.claims.page import tidy as claims_table
from fedbench.report.figures.panels import Panel
from fedbench.report.kinds.leads_and_pareto import Lead
from fedbench.report.tables import export
from fedbench.report.values.leads import leads as leads_over
from fedbench.spec.compositions import compositions
from tests.docs.snippets import Snippet, commands, follow, merged, obey, snippets
from tests.project import ROOT
from tests.report.claim_case import judge, plan_of

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
APART = {"ten-minutes.md", "method.md"}  # whose output is looked at as well
SPOKEN = [page for page in PAGES if page.name not in APART and snippets(page.read_text())]


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """A reader in an empty folder, whose data would lie there too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path))
    monkeypatch.setenv("FEDBENCH_PLUGINS", "")


@pytest.mark.parametrize("page", SPOKEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_shows_works(page, reader):
    follow(page.read_text(encoding="utf-8"))


def test_the_first_run_learns_and_tells_two_methods_apart(reader, capsys):
    follow((ROOT / "docs/ten-minutes.md").read_text(encoding="utf-8"))
    printed = capsys.readouterr().out
    lines = re.findall(r"^(?:FedAvg|\['fedadc'\]) \[(.+)\]$", printed, re.MULTILINE)
    fedavg, fedadc = ([float(word) for word in line.split(",")] for line in lines)
    assert min(fedavg[-1], fedadc[-1]) > 0.9
    assert fedadc[1] > fedavg[1] + 0.1  # after the eighth round


def test_the_example_by_hand_stays_at_four(reader, capsys):
    follow((ROOT / "docs/howto/method.md").read_text(encoding="utf-8"))
    assert "tensor([4.]" in capsys.readouterr().out


def test_the_readme_counts_the_named_methods(reader):
    words = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"{len(compositions())} named methods" in words


def test_snippets_by_hand():
    page = "Text\n\n```sh\na b\n```\n\n1. item\n\n    ```toml\n    x = 1\n    ```\n"
    page += '```yaml title="in papers/p.yaml"\na: 1\n```\n'
    assert snippets(page) == [
        Snippet("sh", "", "a b\n"),
        Snippet("toml", "", "    x = 1\n"),
        Snippet("yaml", "in papers/p.yaml", "a: 1\n"),
    ]


def test_commands_by_hand():
    text = "a -b 'c d' && e # why\nf \\\n  g\n# nothing\n"
    assert list(commands(text)) == [["a", "-b", "c d"], ["e"], ["f", "g"]]
    assert merged({"a": {"b": 1}, "c": 2}, {"a": {"d": 3}}) == {"a": {"b": 1, "d": 3}, "c": 2}


@pytest.mark.parametrize(
    "typo",
    [
        "fedbench run run.yaml --outt x",
        "fedbench pln",
        "fedbench plan --scal paper",
        "snakemake --cors all",
        "snakemake reproduce_nothing",
        "snakemake reproduce_all --config scal=demo",
        "pip install -c constraints.txt -e '.[slurmm]'",
        "python benchmarks/rates.py --scal demo",
        "python -m fedbench.nothing",
        "mlflow servr",
        "rm -rf x",
    ],
)
def test_a_typing_error_in_a_command_is_noticed(typo):
    (words,) = commands(typo)
    with pytest.raises((Exception, SystemExit)):  # of several programs
        obey(words)


@pytest.mark.parametrize(
    "page",
    [
        '```yaml title="run.yaml"\nrouns: 3\n```',
        '```yaml title="scales/s.yaml"\nabout: x\nlimt: {}\n```',
        '```yaml title="papers/p.yaml"\ntitle: x\n```',
        "```yaml\nrounds: 3\n```",
        "```python\n1 / 0\n```",
        '```python title="fedbench/methods/fedprox.py"\nmu: NonNegative = 0.02\n```',
    ],
)
def test_a_mistake_in_a_snippet_is_noticed(page, reader):
    with pytest.raises((Exception, SystemExit)):
        follow(page)


def test_every_column_of_the_csv_files_is_described(monkeypatch):
    claim = {"table": "t", "kind": "greater", "winner": "A", "loser": "B"}
    judged = judge(plan_of({"c": claim}), lambda _: None)
    of_claims = claims_table("toy", list(judged.values())).columns
    text = (ROOT / "docs/howto/results.md").read_text(encoding="utf-8")
    tables, others = text.split("| column of a table |")[1].split("| column of leads ")
    leads, claims = others.split("| column of claims |")
    values = pd.DataFrame({"FedAvg": [0.1, 0.2], "A": [0.3, 0.5]})
    monkeypatch.setattr(Lead, "_leads", lambda *_: leads_over(values, "FedAvg"))
    of_leads = Lead().numbers([Panel({}, "", "accuracy", ())]).columns
    parts = ((export.COLUMNS, tables), (of_leads, leads), (of_claims, claims))
    for columns, described in parts:
        rows = [line.split("|")[1] for line in described.splitlines() if line.startswith("| `")]
        assert [name for row in rows for name in re.findall(r"`(\w+)`", row)] == [*columns]
