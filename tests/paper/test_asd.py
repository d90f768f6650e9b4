"""The ASD paper's runs: strengths by data set and batches, one search, controls, shared runs."""

import math

import pytest

from fedbench.base import registry
from fedbench.plan.search import search_id
from fedbench.spec import RunSpec
from tests.paper.published import cells, plan

COMMON = 0.05  # FedDyn's α of the released configuration, which its code divides by the batches


def runs(grid: str, **where) -> list[RunSpec]:
    return [cell.run for cell in plan().select("asd", grid, where)]


def strengths(part: str, parameter: str, found: list[RunSpec]) -> set:
    """The values that a part's parameter is given, None where it is left to the code's default."""
    choices = [choice for run in found for choice in run.parts if choice.name == part]
    return {choice.params.get(parameter) for choice in choices}


def batches(run: RunSpec) -> int:
    """A client's batches per epoch."""
    samples = registry.find("dataset", run.dataset.name).constants["SAMPLES"][0]
    return math.ceil(samples / run.clients / run.batch)


@pytest.mark.parametrize(
    ("grid", "where", "number"),
    [
        ("main", {"dataset": "CIFAR-100"}, 10),
        ("main", {"dataset": "Tiny-ImageNet"}, 20),
        ("cifar10", {}, 10),
        ("many", {}, 2),
        ("resnet", {}, 34),
        ("imagenet", {}, 13),
        ("clients", {"K": 100}, 10),
        ("clients", {"K": 200}, 5),
        ("clients", {"K": 300}, 4),
        ("clients", {"K": 400}, 3),
        ("clients", {"K": 500}, 2),
        ("shares", {}, 10),
        ("weights", {}, 10),
    ],
)
def test_feddyns_and_fedspeeds_strength_is_shared_among_a_clients_batches(grid, where, number):
    found = runs(grid, **where)
    assert {batches(run) for run in found} == {number}
    (alpha,) = strengths("feddyn", "alpha", found)
    assert alpha == pytest.approx(COMMON / number, rel=3e-3)  # three digits
    assert strengths("fedspeed", "lam", found) <= {number / COMMON}


def test_the_strength_of_asd_is_that_of_the_data_set():
    # A.3: 10, 30 and 20; FedNTD is ASD with uniform weights
    for grid, dataset, lam in (
        ("cifar10", "CIFAR-10", 10),
        ("main", "CIFAR-100", 30),
        ("main", "Tiny-ImageNet", 20),
        ("imagenet", "ImageNet-100", 20),
    ):
        assert strengths("asd", "lam", runs(grid, dataset=dataset)) == {lam}
    everything = [cell.run for cell in cells("asd")]
    assert None not in strengths("asd", "lam", everything) | strengths("asd", "tau", everything)


def test_fedsams_radius_is_searched_once_and_reused():
    for dataset in ("CIFAR-100", "Tiny-ImageNet"):
        for delta in (0.3, 0.6, "IID"):
            alone, both = (
                {trial for run in found for trial in plan().trials[search_id(run)]}
                for found in (
                    runs("main", dataset=dataset, delta=delta, method=method)
                    for method in ("FedSAM", "FedSAM+ASD")
                )
            )
            assert alone == both
            assert len(alone) == 4  # one for each ρ
            names = [[part.name for part in plan().runs[trial].parts] for trial in alone]
            assert names == [["meanofall", "meanofselected", "fedsam"]] * 4
            assert not any(plan().runs[trial].watch for trial in alone)


def test_the_controls_of_table_8_are_the_released_configuration():
    found = runs("vit", method=("FedAvg as configured", "FedAvg+ASD as configured"))
    settings = {(r.rounds, r.lr, r.batch, r.participation, r.epochs) for r in found}
    assert settings == {(500, 0.01, 32, 0.05, 2)}
    assert strengths("asd", "lam", found) == {2}
    assert strengths("asd", "weights", found) == {"uniform"}
    rows = runs("vit", method=("FedAvg", "FedAvg+ASD"))
    assert {(r.rounds, r.lr, r.batch, r.participation) for r in rows} == {(300, 0.1, 50, 0.1)}


@pytest.mark.parametrize("method", ["FedAvg", "FedAvg+ASD"])
def test_a_control_differs_from_its_row_in_the_augmentation_alone(method):
    rows, controls = (runs("main", dataset="CIFAR-100", method=m) for m in named(method))
    assert len(controls) == 9
    for row, control in zip(rows, controls, strict=True):
        assert row.augment is not None
        assert control == row.changed(augment=None, watch=())


def named(method: str) -> tuple[str, str]:
    return method, f"{method} unaugmented"


def test_tables_share_the_runs_of_the_same_experiment():
    # FedAvg+ASD on CIFAR-100, δ = 0.3, stands in Tables 1, 2, 3, 11, 14 and Fig. 7
    places = [
        ("main", {"dataset": "CIFAR-100", "delta": 0.3, "method": "FedAvg+ASD"}),
        ("weights", {"weights": "adaptive", "method": "FedAvg+ASD"}),
        ("shares", {"delta": 0.3, "C": 0.1, "method": "FedAvg+ASD"}),
        ("divergences", {"divergence": "KL"}),
        ("strength", {"lam": 30, "tau": 2}),
    ]
    first, *others = ([run.id for run in runs(grid, **where)] for grid, where in places)
    assert all(own == first for own in others)
    fedavg = {"dataset": "CIFAR-100", "delta": 0.3, "method": "FedAvg"}
    assert runs("divergences", divergence="none") == runs("main", **fedavg)
    fedntd = {"dataset": "CIFAR-100", "delta": 0.3, "method": "FedNTD"}
    assert runs("weights", weights="uniform", method="FedNTD+ASD") == runs("main", **fedntd)
