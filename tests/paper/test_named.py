"""Published methods that stand by their name in a list of parts."""

from pathlib import Path

import pytest

from fedbench.base.errors import FedbenchError
from fedbench.plan.plan import make_plan
from fedbench.spec import RunSpec
from fedbench.spec.compositions import compositions, spelled_out
from fedbench.spec.run import load_run
from tests.project import PAPER, make_project


@pytest.mark.parametrize(
    ("listed", "parts"),
    [
        (["FedDyn+ASD"], ["feddyn", "asd"]),
        (["fedDYN+asd"], ["feddyn", "asd"]),  # one method alone is spelled so
        (["FedProx", {"asd": {"lam": 3}}], ["fedprox", "asd(lam=3)"]),
        (["fedprox", "FEDPROX"], ["fedprox", "fedprox"]),
        (["TwoSided"], ["twosided"]),  # a part that no method is named after
        (["FedAvg"], []),
    ],
)
def test_a_method_is_replaced_by_its_parts(listed, parts):
    spec = RunSpec(**spelled_out({"parts": listed}))
    assert [str(part) for part in spec.parts] == parts


def test_what_a_method_needs_is_set_unless_it_is_set_already():
    assert spelled_out({"parts": ["MOON"]})["projection"] == 256
    assert spelled_out({"parts": ["MOON"], "projection": 8})["projection"] == 8
    assert "projection" not in spelled_out({"parts": ["moon"]})  # the part, not the method


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("parts: fedprox", "parts = 'fedprox' is not allowed: it must be a list; write parts: [f"),
        ("parts: [moony]", "no method 'moony'; did you mean 'moon'?"),
        ("parts: [{FedProx: {mu: 1}}]", "takes no parameters; set them on its parts (fedprox)"),
        ("watch: spectrum", "watch = 'spectrum' is not allowed: it must be a list; write watch: ["),
    ],
)
def test_bad_parts_of_a_file_are_one_sentence(tmp_path, text, words):
    (tmp_path / "spec.yaml").write_text(text)
    with pytest.raises(FedbenchError) as caught:
        load_run(tmp_path / "spec.yaml")
    assert str(caught.value).startswith(f"{tmp_path}/spec.yaml: ")
    assert words in str(caught.value)


def test_a_papers_level_may_name_a_method(tmp_path):
    paper = PAPER.replace("parts: [{fedprox: {mu: 0.1}}]", "parts: [MOON, asd]")
    plan = make_plan(make_project(tmp_path, paper) / "workflow", "paper")
    run = next(cell.run for cell in plan.cells if cell.coords["method"] == "FedProx")
    assert ([part.name for part in run.parts], run.projection) == (["moon", "asd"], 256)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2024: {parts: [fedprox]}", r"2024 is not allowed as the name .* write '2024'"),
        ("0.5: {parts: [fedprox]}", "0.5 is not allowed as the name of a method"),
        ("Mine: {parts: [fedprox], 1: 2}", "Mine: no field in Composition '1'"),
    ],
)
def test_a_number_names_no_method(tmp_path, monkeypatch, refuses, text, words):
    monkeypatch.chdir(tmp_path)
    Path("compositions.yaml").write_text(text)
    with refuses(rf"compositions\.yaml: {words}"):
        compositions()
    Path("compositions.yaml").write_text("'2024': {parts: [fedprox]}")
    assert [*compositions()][-1] == "2024"


@pytest.mark.parametrize(
    "method",
    [
        "{parts: [fedproxx]}",
        "{parts: [], wth: {}}",
        "{parts: [], with: {weights: a}}",
        "{parts: [], with: {parts: []}}",
    ],
)
def test_a_mistake_in_compositions_names_that_file_alone(tmp_path, monkeypatch, refuses, method):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.yaml").write_text("parts: [Mine]")
    (tmp_path / "compositions.yaml").write_text(f"Mine: {method}")
    with refuses(r"compositions\.yaml: Mine: ") as caught:
        load_run(Path("spec.yaml"))
    assert "spec.yaml" not in str(caught.value)
