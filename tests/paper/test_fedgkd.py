"""What fedgkd.yaml says of the paper's runs, where the printed text or its tables decide it."""

from collections import defaultdict

import pytest

from fedbench.plan.plan import Cell
from tests.paper import published


def cells(grid: str, **where: object) -> list[Cell]:
    own = [cell for cell in published.cells("fedgkd") if cell.grid == grid]
    return [c for c in own if all(c.coords[axis] == level for axis, level in where.items())]


def params(cell: Cell) -> dict[str, object]:
    (part,) = cell.run.parts
    return part.params


def test_coefficients_by_data_set():
    # "γ = 0.2 for ResNet-8 and DistilBERT, γ = 0.1 for ResNet-50", γ/2 in front; λ of Vote is 0.1
    wanted = {
        "CIFAR-10": 0.1,
        "CIFAR-100": 0.1,
        "Tiny-ImageNet": 0.05,
        "AG News": 0.1,
        "SST-5": 0.1,
    }
    found = {
        cell.coords["dataset"]: params(cell)["coef"]
        for method in ("FedGKD", "FedGKD+")
        for cell in [*cells("images", method=method), *cells("text", method=method)]
    }
    assert found == wanted
    votes = [*cells("images", method="FedGKD-Vote"), *cells("text", method="FedGKD-Vote")]
    assert {params(cell)["lam"] for cell in votes} == {0.1}
    # "μ = 0.01, 0.001, 0.001, 0.001" of FedProx and "μ = 5, 5, 1, 0.1" of MOON
    mu = {
        (cell.coords["dataset"], cell.coords["method"]): params(cell)["mu"]
        for method in ("FedProx", "MOON")
        for cell in [*cells("images", method=method), *cells("text", method=method)]
    }
    sets = list(wanted)
    assert [mu[name, "FedProx"] for name in sets] == [0.01, 0.001, 0.001, 0.001, 0.001]
    assert [mu[name, "MOON"] for name in sets] == [5, 5, 1, 0.1, 0.1]


@pytest.mark.parametrize("grid", ["images", "text", "participation"])
def test_fedgens_coefficient_is_searched_as_the_paper_says(grid):
    for cell in cells(grid, method="FedGen"):
        assert cell.run.tune is not None
        assert (cell.run.tune.grid, cell.run.tune.by) == ({"fedgen.a": (0.1, 1, 10)}, "best")
        assert params(cell)["size"] == cell.run.batch == 64


def test_on_sst5_vote_takes_the_official_development_set():
    (sst5,) = {
        str(cell.run.dataset) for cell in cells("text", dataset="SST-5", method="FedGKD-Vote")
    }
    assert sst5 == "sst5(length=128, development=True)"
    (news,) = {
        cell.run.validation for cell in cells("text", dataset="AG News", method="FedGKD-Vote")
    }
    assert news == 0.1


def test_a_watched_run_is_not_trained_again_unwatched():
    watching, runs = defaultdict(set), published.plan().runs
    for run_id in published.plan().needed(published.cells("fedgkd")):
        watching[runs[run_id].model_copy(update={"watch": ()}).id].add(run_id)
    assert [ids for ids in watching.values() if len(ids) > 1] == []


def test_fig_2_has_the_three_seeds_of_table_3():
    paper = published.papers()["fedgkd"]
    drawn = published.plan().select("fedgkd", "images", paper.figures["fig2"].where)
    assert sorted((c.coords["method"], c.seed) for c in drawn) == [
        (method, seed) for method in ("FedAvg", "FedGKD", "FedProx") for seed in (0, 1, 2)
    ]
    assert {str(c.run.watch[0]) for c in drawn} == {"embedding(samples=1000, perplexity=30)"}
    table7 = cells("buffers", dataset="CIFAR-10", alpha=0.1, M=5)
    assert {c.run_id for c in table7} < {c.run_id for c in drawn}
