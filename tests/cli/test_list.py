"""What `fedbench list methods` says about parts and named methods."""

import dataclasses
import json
import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from fedbench.__main__ import app
from fedbench.base import registry
from fedbench.cli.catalogue import (
    catalogue,
    citation,
    parameters_of,
    summaries,
    text_of,
)
from fedbench.core.part import Cost
from fedbench.spec.compositions import compositions


def test_how_many_there_are_as_json(cli):
    counts = json.loads(cli("list", "--json").output)
    assert counts["papers"] == len(json.loads(cli("list", "papers", "--json").output))


@pytest.fixture(scope="module")
def rows():
    return {row["name"]: row for row in json.loads(shown("--json"))}


def shown(*options):
    done = CliRunner().invoke(app, ["list", "methods", *options], catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


def test_every_part_and_every_named_method_has_a_row(rows):
    assert set(rows) == {*registry.entries("method"), *compositions()}
    common = {"name", "summary", "citation", "parts", "parameters", "hooks", "cost", "shares"}
    common |= {"proxy_data", "needs_projection", "needs_head", "needs_classes"}
    common |= {"computes_at_server"}
    floats = {"down", "up", "client_memory", "server_memory"}
    fields = {f"{f.name}_in_d" if f.name in floats else f.name for f in dataclasses.fields(Cost)}
    for name, row in rows.items():
        assert common <= set(row)
        assert set(row["cost"]) == fields
        assert len(row["citation"]) > 8, name
        for parameter in row["parameters"]:
            assert {"name", "default", "allowed"} <= set(parameter)


@pytest.mark.parametrize("kind", registry.KINDS)
def test_what_is_read_without_an_import_is_a_part_of_the_full_row(kind):
    full = {row["name"]: row for row in catalogue(kind)}
    read = {row["name"]: row for row in summaries(kind)}
    assert read.keys() == full.keys()
    for name, row in read.items():
        assert row == {key: full[name][key] for key in row}


def test_a_part_by_hand(rows):
    gen = rows["fedgen"]
    assert gen["citation"].startswith('Zhu, Hong & Zhou, "Data-Free Knowledge Distillation')
    assert gen["shares"] == "label counts"
    assert (gen["needs_head"], gen["proxy_data"], gen["needs_projection"]) == (True, False, False)
    assert gen["hooks"] == ["server", "send", "draw", "loss", "end", "step"]
    # Γ: 74·512 + 512, batch norm 4·512, 512·64 + 64; d = 100,000
    assert gen["cost"]["down_in_d"] == (74 * 512 + 512 + 4 * 512 + 513 * 64) / 100_000
    assert rows["feddf"]["proxy_data"]
    at_server = {name for name in registry.entries("method") if rows[name]["computes_at_server"]}
    assert at_server == {"feddf", "fedgen", "fedgkdvote"}
    assert rows["moon"]["needs_projection"]
    assert (rows["FedGKD"]["needs_classes"], rows["FedGKD (MSE)"]["needs_classes"]) == (True, False)
    words = ("any", "SGD", "SGD without momentum")
    assert [rows[name]["local_optimisers"] for name in ("FedAvg", "SCAFFOLD", "RMFL")] == [*words]


def test_a_named_method_by_hand(rows):
    row = rows["FedADC+"]
    assert row["parts"] == ["fedadc", "selfconfidence"]
    assert row["summary"] == "fedadc(variant=red) + selfconfidence"
    assert row["papers"] == ["fedadc"]
    # momentum down and kept; one teacher
    assert (row["cost"]["down_in_d"], row["cost"]["server_memory_in_d"]) == (1, 1)
    assert row["cost"]["forward"] == row["cost"]["teachers"] == 1
    values = {p["name"]: p["value"] for p in row["parameters"]}
    assert values["selfconfidence.lam"] == 0.35
    assert values["fedadc.variant"] == "red"
    assert rows["FedGKD+"]["with"] == {"projection": 256}
    assert rows["FedGKD+"]["summary"] == "fedgkd, with projection = 256"
    assert "`weights` mixes clients all alike (uniform, the default)" in rows["FedAvg"]["summary"]
    assert rows["FedAvg"]["parts"] == rows["FedAvg"]["hooks"] == []
    assert set(rows["FedAvg"]["cost"].values()) == {0}


@dataclasses.dataclass
class Asked:
    """A part of a user's own: one parameter must be given."""

    strength: float
    names: dict[str, int] = dataclasses.field(default_factory=dict)
    limit: int | None = None


def test_a_parameter_that_must_be_given_is_called_required():
    strength, names, limit = parameters_of(Asked)
    assert "default" not in strength
    assert (names["default"], limit["default"]) == ({}, None)
    lines = text_of([strength, names, limit]).splitlines()
    assert [line.partition(",")[0] for line in lines] == [
        "strength (required)", "names = {}", "limit = None",
    ]  # fmt: skip
    json.dumps([strength, names, limit])


def test_costs_of_parts_add_up(rows):
    both, dyn, asd = (rows[name]["cost"] for name in ("FedDyn+ASD", "feddyn", "asd"))
    assert both == {name: dyn[name] + asd[name] for name in both}
    assert rows["FedSAM+ASD"]["cost"]["forward"] == 2


def test_the_table_shows_what_a_named_method_sets():
    text = shown("--full")
    assert "FedLS-NTD" in text
    assert "fedntd.mix = convex" in " ".join(text.replace("│", " ").split())
    assert "selfconfidence.lam" not in text


def test_other_kinds_stay_plain():
    row = catalogue("sampler")[0]
    assert set(row) == {"name", "summary", "about", "parameters"}


@pytest.mark.parametrize(
    ("doc", "found"),
    [
        (
            'Pull.\n\nLi et al., "Federated\nSteps", MLSys 2020.',
            'Li et al., "Federated Steps", MLSys 2020',
        ),
        (
            'A is 1; b is 2. Lee & Kim, "A Long Title of a Paper"; Lee paper, (3). C is 0.',
            'Lee & Kim, "A Long Title of a Paper"; Lee paper, (3)',
        ),
        ("Do it: x ← x − d. The paper has it.", ""),
        ("Deviation: as in the Lee paper.", ""),
    ],
)
def test_citations_are_the_sentences_with_a_source(doc, found):
    assert citation(doc) == found


def test_only_what_is_named_with_all_that_is_said_of_it(cli):
    names = [row["name"] for row in json.loads(shown("moon", "RMFL", "--json"))]
    assert names == ["MOON", "RMFL", "moon", "rmfl"]  # named methods, then parts; in any case
    output = shown("rmfl")
    assert "fedprox" not in output
    about = next(row["about"] for row in catalogue("method") if row["name"] == "rmfl")
    assert " ".join(about.split()) in " ".join(output.split())
    refused = cli("list", "methods", "romfl").output
    assert "no method 'romfl'; did you mean 'rmfl'?" in refused
    assert "did you mean 'FedCM'?" in cli("list", "methods", "FedCMM").output


def test_a_named_method_has_its_paper_and_the_formulas_of_its_parts():
    output = " ".join(shown("FedADC+").split())
    assert "Ozfatura, Ozfatura & Gündüz, 2022" in output
    assert "selfconfidence: Distil classes of which the client has few samples" in output


def test_without_a_kind_all_kinds_are_counted(cli):
    output = cli("list").output
    counts = dict(re.findall(r"│ (\w+) +│ (\d+) +│", output))
    assert int(counts["methods"]) == len({*registry.entries("method"), *compositions()})
    assert int(counts["samplers"]) == len(registry.entries("sampler"))
    assert counts.keys() >= {"datasets", "models", "partitions", "probes", "papers"}


def test_a_paper_has_the_keys_of_its_tables_figures_and_claims(cli):
    (row,) = json.loads(cli("list", "papers", "digits", "--json").output)
    assert row["tables"]["table1"] == "Accuracy"
    assert "curves" in row["figures"]
    assert "server_momentum" in row["claims"]
    assert "table1  Accuracy" in cli("list", "papers", "digits").output


def test_paragraphs_of_a_help_are_as_wide_as_the_terminal(cli):
    lines = cli("list", "--help").output.splitlines()
    (first,) = (line for line in lines if "With --full or a name" in line.replace("`", ""))
    assert len(first.rstrip()) > 60


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_an_output_without_greek_letters_gets_their_escapes(encoding):
    env = {**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "300"}
    command = [sys.executable, "-m", "fedbench", "list", "methods"]
    done = subprocess.run(command, env=env, capture_output=True, check=True)
    assert "FedDyn" in done.stdout.decode(encoding)
    assert b"\\u2016" in done.stdout or b"\\u03b1" in done.stdout
    told = subprocess.run([*command, "--json"], env=env, capture_output=True, check=True).stdout
    assert {row["name"] for row in json.loads(told.decode("utf-8"))} >= {"FedDyn"}
