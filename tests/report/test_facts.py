"""Tables that no run is needed for: what the code declares, beside what a paper prints."""

import csv
from dataclasses import dataclass
from pathlib import Path

import pytest

from fedbench.base import registry
from fedbench.base.files import read_text
from fedbench.paper.paper import Paper
from fedbench.paper.printed_numbers import Place, Printed, Stat
from fedbench.report import build
from fedbench.report.facts.derived_from_settings import constant
from fedbench.report.tables.export import to_csv
from fedbench.report.tables.facts import Fact, FactRow, FactTable, fact_table, shown
from fedbench.spec import Choice, RunSpec
from tests.report.made_up import PAPER, made_up

FACTS = PAPER[PAPER.index("facts:") :]


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    """The made-up paper without its figures, whose probes are not needed here."""
    return made_up(tmp_path_factory.mktemp("facts"), text=only_facts()).papers["made"]


def only_facts() -> str:
    return PAPER[: PAPER.index("  watched:")] + FACTS


def rows(paper: Paper, key: str, numbers: dict[Place, Stat] | None = None) -> dict[str, tuple]:
    printed = Printed(Path("made.printed.csv"), numbers or {})
    return {row.name: row.values for row in fact_table(key, paper, printed).rows}


def test_traits_are_those_of_fedgkds_table_1(paper):
    marks = {name: values[:3] for name, values in rows(paper, "traits").items()}
    assert marks == {
        "FedAvg": (False, False, False), "FedProx": (False, False, False),
        "FedDistill+": (True, False, False), "FedGen": (True, False, False),
        "FedDF": (False, True, False), "MOON": (False, False, True),
        "FedGKD": (False, False, False), "FedGKD+": (False, False, True),
    }  # fmt: skip


def test_what_is_shared_is_said(paper):
    assert rows(paper, "traits")["FedGen"][3] == "label counts"
    assert rows(paper, "traits")["FedAvg"][3] is None


def test_costs_by_phase(paper):
    found = rows(paper, "costs")
    assert found["FedAvg"] == ("1", "H·g", "H", "1", "H·g + H + 2", "m", None, "m")
    # the pull is a difference and an addition a step
    assert found["FedProx"][1] == "H·g + 2H"
    # x_t/η at a client; Δ·P, ‖Δ‖², ‖r‖² and r for each of m, P·P and the step; P is kept
    assert found["FedDPC"][3:] == ("2", "H·g + H + 3", "5m + 2", "1", "5m + 3")
    assert found["FedVARP"][6] == "m + 1"
    assert found["FedSAM"][1] == "2H·g + 3H"
    assert found["FedAvg+ASD"][1] == "H·g + H·f"


def test_traffic_in_models_and_passes(paper):
    found = rows(paper, "traffic")
    assert found["FedAvg"] == ("1", "1", "1", "1")
    assert found["FedADC"] == ("2", "1", "1", "1")  # m_t comes with x_t
    assert found["FedADC+"] == ("2", "1", "2", "1")
    assert found["FedGKD"] == ("2", "1", "2", "1")  # M = 5: w̄_t comes with x_t
    assert found["FedGKD-Vote"] == ("5", "1", "6", "1")
    # Γ has 77·512 + 513·84 weights and 1,024 statistics, LeNet5 62,006, its classifier 85·10
    assert found["FedGen"] == ("2.347", "1", "1.014", "1.014")
    assert found["λ = 0.4"] == ("1", "1", "2", "1")  # ASD's teacher


def test_passes_and_traffic_of_a_round(paper):
    # E = 5: E + 1 forward passes with the teacher's outputs kept, 2E without; no traffic for ASD
    found = rows(paper, "passes")
    assert found["FedAvg"] == (5, 5, 5, 1, 1)
    assert found["FedAvg+ASD"] == (6, 10, 5, 1, 1)
    assert found["FedSAM"] == (10, 10, 10, 1, 1)
    assert found["FedSAM+ASD"] == (11, 15, 10, 1, 1)
    assert found["FedCM"] == (5, 5, 5, 2, 1)


def test_sizes_are_counted_by_the_partition_beside_the_printed_ones(paper):
    place = Place("sizes", "CIFAR-10", "", "", "train_size")
    found = rows(paper, "sizes", {place: Stat(45_000, None)})
    assert found["CIFAR-10"] == (45_000, None, None, 45_000, 10, 20, 10_000, "2,250")
    assert found["SST-5"][3:] == (8_544, 5, 10, 2_210, "854")


def test_a_printed_size_without_a_place_is_refused(refuses, paper):
    place = Place("sizes", "CIFAR-10", "", "", "train size")
    with refuses("sizes has no"):
        rows(paper, "sizes", {place: Stat(1, None)})


def test_an_architecture_is_listed_layer_by_layer(paper):
    found = fact_table("layers", paper, Printed(Path("p"), {})).rows
    assert (found[0].name, found[0].values) == ("ConvLayer(3,6,5)", ("6 × 28 × 28", 456))
    assert (found[-2].name, found[-2].values) == ("FullyConnected(84,10)", ("10", 850))
    assert found[-1].values == (None, 62_006)
    assert sum(row.values[1] for row in found[:-1]) == 62_006
    assert {row.group for row in found} == {"LeNet5, CIFAR-10"}


def test_rmfls_weights_in_a_setting_by_hand(tmp_path):
    # 500 of 50,000 samples per client, 2 epochs of batches of 64: 8 batches twice, H = 16
    text = """title: T
authors: A
settings: {clients: 100, epochs: 2, batch: 64, dataset: cifar10}
levels: {alpha: {each: {partition: iid}}, dataset: {CIFAR-10: {dataset: cifar10}}}
grids: {}
facts: {m: {title: M, kind: {momentum: {rows: [CIFAR-10], levels: [1], seeds: 2}}}}
"""
    (row,) = fact_table(
        "m", made_up(tmp_path, text=text).papers["made"], Printed(Path("p"), {})
    ).rows
    samples, H, *weights = row.values
    assert (row.group, row.name, samples, H) == ("CIFAR-10", "α = 1", 500, 16)
    assert weights[:3] == ["0.206", "1.000", "8.332"]  # 0.9¹⁵, 1; 0.9¹⁶ + (1 − 0.9¹⁶)/0.1
    assert weights[3:6] == ["0.090", "0.185", "1.000"]  # 0.1·0.9, 0.9¹⁶
    assert weights[6:9] == ["0.100", "0.206", "1.100"]
    assert weights[9:] == ["0.100", "0.021", "1.000"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "[FedAvg, FedProx, FedVARP",
            "[FedAvg, FedPrx, FedVARP",
            "facts.costs: .*'FedPrx'.*FedProx",
        ),
        ("[CIFAR-10, SST-5]", "[CIFAR-10, SST5]", "facts.sizes: .*'SST5'.*SST-5"),
        ("at: {alpha: 0.1}", "at: {alfa: 0.1}", "facts.sizes: .*axis 'alfa'.*alpha"),
    ],
)
def test_an_unknown_name_is_refused(refuses, tmp_path, old, new, words):
    plan = made_up(tmp_path, text=only_facts().replace(old, new))
    key = words.partition(":")[0].removeprefix("facts.")
    with refuses(words):
        rows(plan.papers["made"], key)


def test_facts_stand_in_the_page_as_csv_and_tex(tmp_path):
    text = only_facts().replace(
        "facts:", "tables: {t: {title: Table 3, grid: sweep, rows: [lam]}}\nfacts:"
    )
    text = text.replace("columns: [method]", "").replace("rows: [lam]", "rows: [lam], columns: []")
    plan = made_up(tmp_path, text=text)
    files = build(plan, tmp_path / "none", tmp_path / "reports", tmp_path)
    names = {file.name for file in files}
    assert {"costs.csv", "costs.tex", "sizes.csv", "layers.tex"} <= names
    page = read_text(tmp_path / "reports/paper/made.html")
    order = [
        page.index(f'<section id="{key}"') for key in ("costs", "sizes", "t", "traits", "layers")
    ]
    assert order == sorted(order)
    assert "✓" in page
    tex = read_text(tmp_path / "reports/paper/tables/made/costs.tex")
    assert r"FedAvg & 1 & H\textperiodcentered{}g & H & 1" in tex
    assert tex.count("{") == tex.count("}")


def test_a_table_of_facts_as_csv_and_text():
    table = FactTable(
        "Name",
        {"left": ("a",), "": ("b",)},
        (FactRow("x", (True, None)), FactRow("y", (1234, "–"), "g")),
    )
    assert list(csv.reader(to_csv(table.frame()).splitlines())) == [
        ["Name", "left: a", "b"], ["x", "True", ""], ["g: y", "1234", "–"],
    ]  # fmt: skip
    assert [shown(value) for value in (True, False, None, 1234)] == ["✓", "✗", "–", "1,234"]
    assert table.heads == [("", "Name"), ("left", "a"), ("", "b")]


OF_USERS = {"file", "folder", "huggingface", "leaf"}  # known once they are read


@pytest.mark.parametrize("name", sorted(set(registry.entries("dataset")) - OF_USERS))
def test_every_source_says_how_many_classes_and_samples_it_has(name):
    found = registry.find("dataset", name).constants
    assert found["CLASSES"] > 1
    assert len(found["SAMPLES"]) == 2


@pytest.mark.parametrize("name", ["digits", "topics", "grades"])
def test_what_an_embedded_source_says_is_true(name, tmp_path):
    data, says = (
        registry.build("dataset", name, {}).load(tmp_path),
        registry.find("dataset", name).constants,
    )
    assert data.classes == says["CLASSES"]
    assert (len(data.y_train), len(data.y_test)) == says["SAMPLES"]
    assert data.shape == says.get("SHAPE", data.shape)


def test_what_a_source_says_of_itself_follows_its_parameters():
    pairs = {"digitpairs": {"classes": 10, "train": 20, "test": 5}}
    run = RunSpec(dataset=pairs, clients=4)
    assert (constant(run, "CLASSES"), constant(run, "SAMPLES")) == (10, (200, 50))
    assert constant(RunSpec(dataset="digits"), "SAMPLES") == (1_442, 355)


@dataclass(frozen=True)
class Ragged(Fact):
    """One value too few."""

    def table(self, reader):
        return FactTable("Name", {"": ("a", "b")}, (FactRow("x", (1,)),))


def test_a_row_of_another_length_is_refused(refuses, paper, monkeypatch):
    monkeypatch.setattr(Choice, "build", lambda self, kind: Ragged())
    with refuses(r"facts.costs: .*: the row 'x' has 1 values where the columns are 2"):
        fact_table("costs", paper, Printed(Path("made.printed.csv"), {}))
