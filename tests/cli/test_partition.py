"""What `fedbench partition` shows is what a run trains on."""

import json
import re

import numpy as np
import pytest

from fedbench import Dataset, RunSpec
from fedbench.cli.partition_summary import Preview, preview, previews
from fedbench.engine.assemble import assemble


def shown(cli, *args):
    done = cli("partition", *args, "--json")
    assert done.exit_code == 0
    return json.loads(done.output)


@pytest.mark.parametrize("rule", ["iid", {"dl": {"alpha": 0.5}}, {"dr": {"alpha": 0.1}}])
@pytest.mark.parametrize("seeds", [{"seed": 3}, {"seed": 5, "data_seed": 3}])
def test_the_command_shows_the_counts_of_a_run_with_that_data_seed(cpu, cli, rule, seeds):
    spec = RunSpec(partition=rule, clients=12, validation=0.1, **seeds)
    problem = assemble(spec, {}, cpu, None)
    where = ["--clients", 12, "--validation", 0.1, "--seed", 3]
    (found,) = shown(cli, json.dumps(rule), *where)
    assert found["counts"] == problem.fed.labels.tolist()
    assert found["held_out"] == len(problem.scorers["val_"].y)
    (other,) = shown(cli, json.dumps(rule), *where[:-1], 4)
    assert other["counts"] != found["counts"]


def test_worked_example():
    counts = np.array([[2, 0, 0], [0, 3, 3]])
    spec = RunSpec(partition={"dp": {"delta": 0.3}}, clients=2, validation=0.2, data_seed=7)
    found = Preview(spec, counts, samples=15, held_out=3, held=8)
    assert (found.title, found.facts()["unused"]) == ("DP(δ=0.3)", 4)
    assert found.heading == "digits, 2 clients, seed 7, 20% held out"
    facts = found.facts()
    assert facts["partition"] == {"dp": {"delta": 0.3}}
    assert (facts["samples"], facts["held_out"], facts["unused"], facts["seed"]) == (15, 3, 4, 7)
    assert facts["sizes"] == {"min": 2, "median": 4, "max": 6, "spread": 0.5}
    # entropies 0 and 1 bit: 1 and 2 effective classes
    assert facts["classes"] == {"min": 1, "median": 1.5, "max": 2, "effective": 1.5}
    # all: 1/4 3/8 3/8 · client 1: 3/4 · client 2: 1/4 · the two share no class
    assert facts["skew"] == {"to_all": 0.5, "pairwise": 1.0, "jensen_shannon_bits": 1.0}
    assert facts["counts"] == counts.tolist()
    assert found.words()["unused"] == "4 (33.3%)"  # of the 12 that were divided
    assert found.words()["samples per client"] == "2–6, median 4"


@pytest.mark.parametrize(
    ("rule", "title"),
    [
        ("iid", "IID"),
        ({"iid": {"stratified": True}}, "IID(stratified=True)"),
        ("dl", "DL(α=0.5)"),
        ({"dl": {"alpha": 1.0, "group": 5}}, "DL(α=1, group=5)"),
        ({"dy": {"flavour": "fedadc"}}, "DY(α=0.5, flavour=fedadc)"),
        ("sp", "SP(s=2)"),
        ({"dl": {"alpha": 0.10000001}}, "DL(α=0.10000001)"),
    ],
)
def test_titles_name_the_first_number_and_what_is_not_as_usual(rule, title):
    spec = RunSpec(partition=rule, clients=1)
    assert Preview(spec, np.ones((1, 2), int), 2, 0, 2).title == title


def test_settings_are_added_to_every_rule_named(tmp_path):
    rules = ["dl", {"dl": {"alpha": 0.1, "group": 5}}]
    spec = RunSpec(clients=10, seed=1)
    found = previews(spec, rules, {"alpha": 1.0}, tmp_path)
    assert [each.spec.partition.params for each in found] == [
        {"alpha": 1.0},
        {"alpha": 1.0, "group": 5},
    ]
    assert not np.array_equal(found[0].counts, found[1].counts)


def test_labels_that_are_no_classes_are_refused(refuses):
    x = np.zeros((4, 1))
    data = Dataset("line", x, np.linspace(0, 1, 4), x, np.zeros(4), 0)
    with refuses("line: its labels are no classes"):
        preview(data, RunSpec(clients=2))


def test_the_table_has_a_column_for_each_rule(cli):
    done = cli("partition", "dl: {alpha: 1}", "{dl: {alpha: 0.1}}", "iid", "--clients", 10)
    assert done.exit_code == 0
    rows = [re.split("[│┃]", line)[1:-1] for line in done.output.splitlines()]
    cells = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows if row}
    assert cells[""] == ["DL(α=1)", "DL(α=0.1)", "IID"]
    assert cells["training samples"] == ["1,442"] * 3
    assert cells["samples per client"] == ["144"] * 3
    assert cells["unused"] == ["2 (0.1%)"] * 3
    skews = [float(value) for value in cells["skew: TV to all labels"]]
    assert skews[1] > skews[0] > skews[2]


@pytest.mark.parametrize("ending", ["png", "pdf"])
def test_out_draws_a_picture(cli, tmp_path, ending):
    file = tmp_path / "pictures" / f"dl.{ending}"
    done = cli("partition", "dl", "--clients", 20, "--out", file, "--first", 5)
    assert done.exit_code == 0
    assert file.read_bytes()[:4] in (b"\x89PNG", b"%PDF")


def test_the_picture_says_what_it_shows(cli, tmp_path):
    where = ["--clients", 20, "--seed", 3, "--validation", 0.1, "--out", tmp_path / "dl.svg"]
    assert cli("partition", "dl", "dp", *where, "--first", 5).exit_code == 0
    text = (tmp_path / "dl.svg").read_text()
    for words in ("digits, 20 clients, seed 3, 10% held out", "DL(α=0.5)", "DP(δ=0.3)"):
        assert words in text
    assert text.count("client (first 5 of 20)") >= 2


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["dll"], "no partition 'dll'; did you mean 'dl'?"),
        (["dl", "--set", "alfa=1"], "partition 'dl': no parameter 'alfa'; did you mean 'alpha'?"),
        (["dl", "iid", "--set", "alpha=1"], "partition 'iid': no parameter 'alpha'"),
        (
            ["dl", "--set", "alpha=0"],
            "partition 'dl': alpha = 0 is not allowed; it must be a number ≥ 1e-06",
        ),
        (["dl", "--set", "alpha"], "'alpha': a setting is written key=value"),
        (["{dl: 0.1"], "'{dl: 0.1': not valid YAML"),
        (["{dl: 0.1}"], "0.1 is no mapping of parameters"),
        (["dl", "--dataset", "digit"], "no dataset 'digit'; did you mean 'digits'?"),
        (["dl", "--dataset", "{digits: {a: 1}}"], "dataset 'digits': no parameter 'a'"),
        (["dl", "--clients", "0"], "clients = 0 is not allowed"),
        (["dl", "--clients", "2000"], "clients = 2000 is not allowed; it must be 1…1442"),
        (["dl", "--seed", "-1"], "seed = -1 is not allowed"),
        (["dl", "--validation", "1"], "validation = 1.0 is not allowed"),
        (["dl", "--out", "x.jpg"], "x.jpg: a figure is written as one of .svg, .png, .pdf"),
    ],
)
def test_bad_input_ends_in_one_sentence_and_exit_code_2(cli, args, words):
    done = cli("partition", *args)
    assert done.exit_code == 2
    assert words in done.output.replace("\n", "")
