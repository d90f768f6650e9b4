"""What fedadc.yaml says of the paper's runs, where the printed text or its tables decide it."""

import pytest

from fedbench.plan.plan import Cell
from tests.paper import published


def cells(grid: str, **where: object) -> list[Cell]:
    own = [cell for cell in published.cells("fedadc") if cell.grid == grid]
    return [c for c in own if all(c.coords[axis] == level for axis, level in where.items())]


def ids(found: list[Cell]) -> set[str]:
    return {cell.run_id for cell in found}


def test_fedgkd_is_run_as_printed():
    # T = 0.5, λ = 0.1, and no T², which would make it 0.025
    (part,) = {str(c.run.parts[0]) for c in cells("main", method="FedGKD")}
    assert part == "fedgkd(coef=0.1, M=1, T=0.5, scale_t=False, regulariser=kl, skip_first=False)"


@pytest.mark.parametrize("tau", [2, 4])
def test_other_temperatures_come_with_their_square(tau):
    (part,) = {str(c.run.parts[1]) for c in cells("main", method=f"FedADC+, τ = {tau}")}
    assert part == f"selfconfidence(lam=0.35, tau={tau}, scale_tau=True, teacher=global)"


def test_weight_decay_by_section():
    assert {c.run.weight_decay for c in cells("acceleration")} == {4e-4}
    by_set = {
        name: {c.run.weight_decay for c in cells("main", dataset=name, method="FedAvg")}
        for name in ("CIFAR-10", "CIFAR-100")
    }
    assert by_set == {"CIFAR-10": {5e-5}, "CIFAR-100": {5e-4}}
    stated = {m: {c.run.weight_decay for c in cells("main", method=m)} for m in ("FedDyn", "MOON")}
    assert stated == {"FedDyn": {1e-3}, "MOON": {1e-5}}


def test_a_distillation_of_weight_0_is_fedadc_itself():
    zero = {"selfconfidence": 0}
    lams = {(p.name, p.params.get("lam")) for c in published.cells("fedadc") for p in c.run.parts}
    assert lams.isdisjoint(zero.items())
    here = cells("weights", method="FedADC", split="s = 2")
    assert ids(here) == ids(cells("main", method="FedADC", split="s = 2", C=0.1))


def test_fedavgs_momentum_in_fig_1_is_a_control_that_section_ii_shares():
    control = cells("acceleration", s=2, method="FedAvg, momentum 0.9")
    assert ids(control) == ids(cells("momentum", s=2, momentum=0.9, method="FedAvg"))
    assert {c.run.momentum for c in cells("acceleration", method="FedAvg")} == {0}
    (tune,) = {str(c.run.tune) for c in control}
    assert "momentum" not in tune
