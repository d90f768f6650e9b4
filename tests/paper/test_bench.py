"""The paper's file that `fedbench bench` writes."""

import pytest

from fedbench.base.plugins import VARIABLE
from fedbench.base.yamlfile import read_yaml
from fedbench.paper.paper_from_methods import (
    FIRST_LINE,
    Bench,
    chosen_methods,
    content_of,
    grids_of,
    targets_of,
    write_bench,
)
from fedbench.plan.plan import make_plan
from fedbench.spec import RunSpec
from fedbench.spec.compositions import compositions
from tests.project import ROOT


def test_methods_are_names_parts_and_lists():
    assert chosen_methods(
        "FedAvg, FedAvg+ASD, FedProx+asd, {mine: [MOON, {fedsam: {rho: 1}}]}"
    ) == {
        "FedAvg": {},
        "FedAvg+ASD": {},  # the published method of that name
        "FedProx+asd": {"parts": ["FedProx", "asd"]},
        "mine": {"parts": ["MOON", {"fedsam": {"rho": 1}}]},
    }
    assert [*chosen_methods("all")] == [*compositions()]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("FedAvg", r"methods = \['FedAvg'\] is not allowed: name two or more"),
        ("FedAvg, FedAvg", "methods: 'FedAvg' is given twice"),
        ("FedAvg, MOOON", "methods: MOOON: no method 'MOOON'; did you mean 'MOON'"),
        ("FedAvg, {x: MOON}", r"methods: x: parts = 'MOON' is not allowed: it must be a list"),
    ],
)
def test_methods_that_are_none_are_refused(refuses, text, words):
    with refuses(words):
        chosen_methods(text)


def test_the_values_of_a_search(refuses):
    assert grids_of(["lr=0.1,1e-2"]) == {"lr": (0.1, 0.01)}
    with refuses(r"tune = 'batch' is not allowed: write the values, such as batch=0\.1,1"):
        grids_of(["batch"])


def test_targets_are_scores_that_a_run_can_reach(refuses):
    assert targets_of("accuracy", ["0.5", "0.8"]) == [0.5, 0.8]
    assert targets_of("loss", []) == []
    with refuses("--targets: "):
        targets_of("accuracy", ["half"])


def test_a_setting_is_searched_once(refuses):
    assert grids_of(["lr", "batch=5,10"]) == {"lr": (0.01, 0.03, 0.1, 0.3), "batch": (5, 10)}
    with refuses("tune = 'lr=1' is not allowed: lr is given twice; write all its values in one"):
        grids_of(["lr=0.1", "lr=1"])


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("perclient", ["perclient"]),
        ({"steps": {"every": 2}}, ["steps", "perclient"]),
        (["steps", {"perclient": None}], ["steps", "perclient"]),
    ],
)
def test_the_leaderboards_probe_stands_once_beside_those_asked_for(asked, names):
    content = content_of(Bench(methods=chosen_methods("FedAvg, MOON"), settings={"watch": asked}))
    assert [probe.name for probe in RunSpec(**content["settings"]).watch] == names


def test_a_seed_is_no_setting(refuses, tmp_path):
    file = tmp_path / "papers/mine.yaml"
    with refuses("^settings: seed = 5 is not allowed: seeds are listed under `seeds`"):
        write_bench(Bench(methods=BENCH.methods, settings={"seed": 5}), file)
    assert not file.exists()


BENCH = Bench(
    methods=chosen_methods("FedAvg, MOON, FedAvg+fedsam"),
    partitions=["iid", {"dl": {"alpha": 0.1}}],
    settings={"rounds": 2},
    seeds=2,
    tune={"lr": (0.1, 0.3, 1.0)},
    targets=[0.5],
)


@pytest.fixture
def plan(tmp_path, monkeypatch):
    write_bench(BENCH, tmp_path / "papers/mine.yaml")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    return make_plan(ROOT / "workflow", "paper", ("mine",))


def test_every_method_gets_the_same_search_in_every_setting(plan):
    assert len(plan.cells) == 3 * 2 * 2  # methods, partitions, seeds
    assert len(plan.trials) == 3 * 2
    assert {len(trials) for trials in plan.trials.values()} == {3}  # rates, one seed
    runs = {cell.coords["method"]: cell.run for cell in plan.cells}
    assert runs["MOON"].projection == 256  # what the named method needs
    assert [part.name for part in runs["FedAvg+fedsam"].parts] == ["fedsam"]
    assert {run.rounds for run in runs.values()} == {2}


def test_the_leaderboard_says_what_a_target_takes(plan):
    table = plan.papers["mine"].tables["leaderboard"]
    assert table.rows == ("partition", "method")
    assert table.metrics == (
        "accuracy", "accuracy@best", "round@to:0.5", "megabytes@to:0.5",
        "thousand_sample_passes@to:0.5", "client_worst", "client_spread",
    )  # fmt: skip
    assert [*plan.papers["mine"].figures] == [
        "rounds", "megabytes", "thousand_sample_passes", "pareto_megabytes",
        "pareto_thousand_sample_passes",
    ]  # fmt: skip


def test_data_without_classes_are_ranked_by_their_loss():
    content = content_of(Bench(methods=BENCH.methods, metric="loss", targets=[0.2]))
    assert "watch" not in content["settings"]
    searched = content_of(Bench(methods=BENCH.methods, metric="loss", tune={"lr": [0.1, 1]}))
    assert searched["settings"]["tune"] == {"grid": {"lr": [0.1, 1]}, "by": "loss@final"}
    for metric, by in {"macro_f1": "macro_f1@final", "megabytes": None}.items():
        searched = content_of(Bench(methods=BENCH.methods, metric=metric, tune={"lr": [0.1, 1]}))
        assert searched["settings"]["tune"].get("by") == by
    worst = content_of(Bench(methods=BENCH.methods, metric="client_worst"))
    metrics = worst["tables"]["leaderboard"]["metrics"]
    assert metrics == ["client_worst", "client_worst@best", "client_spread"]
    assert content["tables"]["leaderboard"]["metrics"][:3] == [
        "loss", "loss@best", "round@to:loss=0.2",
    ]  # fmt: skip


def test_a_file_of_one_s_own_is_not_overwritten(refuses, tmp_path):
    file = tmp_path / "papers/mine.yaml"
    write_bench(BENCH, file)
    assert file.read_text().startswith(FIRST_LINE)
    write_bench(Bench(methods=BENCH.methods, seeds=5), file)
    assert read_yaml(file)["grids"]["main"]["seeds"] == [0, 1, 2, 3, 4]
    file.write_text("# mine\n" + file.read_text())
    with refuses(r"mine\.yaml: was written by hand, and is not overwritten"):
        write_bench(BENCH, file)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"parts": ["asd"]}, "set: parts is no setting of all runs: name them in methods"),
        ({"dataset": "mnist"}, "set: dataset is no setting of all runs: name it by --dataset"),
        ({"partition": "dl"}, "set: partition is no setting of all runs: name it by --partition"),
        ({"rounds": 2, "lr": 0.5}, r"set: lr = 0\.5 is not allowed: tune searches it; leave one"),
        ({"tune": {"grid": {"batch": [5]}}}, "set: tune = .* is not allowed: tune searches it"),
    ],
)
def test_a_setting_that_is_given_in_another_place_too_is_refused(refuses, settings, words):
    bench = Bench(methods=chosen_methods("FedAvg, MOON"), settings=settings, tune={"lr": (0.1, 1)})
    with refuses(words):
        content_of(bench)
