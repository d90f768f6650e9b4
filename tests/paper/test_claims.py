"""What each paper's claims say: one table of all, and what makes a claim test its sentence."""

import csv

import pytest

from fedbench.paper.claims import Greater, SingleClaim, Together
from fedbench.report.claims.tests import FEWEST
from tests.paper import published
from tests.paper.claims_table import FILE, rows

PAPERS = ("asd", "fedadc", "feddpc", "fedgkd", "rmfl")


def claim(paper: str, key: str) -> SingleClaim:
    found = published.papers()[paper].claims[key]
    assert not isinstance(found, Together)
    return found


def test_the_claims_are_those_of_the_committed_table():
    with FILE.open(encoding="utf-8", newline="") as stream:
        committed = list(csv.DictReader(stream))
    assert list(rows(published.plan())) == committed, (
        "run `python -m tests.paper.claims_table`, read the diff"
    )


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_has_repeats_enough_for_an_interval(paper):
    found = published.papers()[paper]
    for key, one in found.claims.items():
        if not isinstance(one, Together):
            table = found.tables[one.table] if one.table else None
            grid = found.grids[table.grid if table else one.grid]
            repeats = len(grid.seeds)
            for axis in table.over if table else ():
                repeats *= len(grid.axes[axis])
            assert repeats >= FEWEST, key


def test_a_margin_is_a_quarter_of_the_size_and_said_to_be_ours():
    claims = [one for paper in PAPERS for one in published.papers()[paper].claims.values()]
    with_margin = [one for one in claims if isinstance(one, Greater) and one.margin]
    assert with_margin
    for one in with_margin:
        assert one.margin == one.by / 4, one.text
        assert "margin" in one.text
        assert "ours" in one.text


def test_a_gap_that_is_not_directly_proportional_is_a_trend_that_does_not_hold():
    grows, does_not = claim("rmfl", "gap_cifar10"), claim("rmfl", "gap_cifar100")
    assert (grows.kind, grows.negate) == ("trend", False)
    assert (does_not.kind, does_not.negate) == ("trend", True)


@pytest.mark.parametrize(
    ("key", "metric", "size", "beside"),
    [
        ("cifar10_20_percent_r1", "accuracy@mean:400", 20, "cifar10_later_skewed_r1"),
        ("cifar10_20_percent_r2prime", "accuracy@mean:400", 20, "cifar10_later_skewed_r2prime"),
        ("cifar100_30_percent", "accuracy@mean", 30, "cifar100_throughout"),
    ],
)
def test_a_size_that_is_said_of_a_curve_is_tested_on_its_mean_with_a_margin(
    key, metric, size, beside
):
    curve, lead = claim("rmfl", key), claim("rmfl", beside)
    assert isinstance(curve, Greater)
    assert isinstance(lead, Greater)
    assert (curve.metrics, curve.relative, curve.by) == ((metric,), True, size)
    assert curve.margin == size / 4
    assert "accuracy" in lead.metrics  # that RMFL leads, of whatever size, in the last round too
    assert not lead.by


def test_mfl_is_compared_with_fedavg_at_equal_step_length():
    found = claim("rmfl", "mfl_fedavg")
    assert isinstance(found, Greater)
    assert (found.winner, found.loser) == ("MFL", "FedAvg, rate η/(1−β)")
    assert published.papers()["rmfl"].grids["drift"].seeds == tuple(range(10))


@pytest.mark.parametrize(
    ("key", "less", "more"),
    [
        ("variance_projection", "residual_relative_variance", "delta_relative_variance"),
        ("variance_scaled", "scaled_relative_variance", "residual_relative_variance"),
    ],
)
def test_variances_are_relative_to_the_mean_length(key, less, more):
    found = claim("feddpc", key)
    assert isinstance(found, Greater)
    assert found.wins == "low"
    assert found.winner == {"metric": f"{less}@mean"}
    assert found.loser == {"metric": f"{more}@mean"}
    assert claim("feddpc", "variance_global").metrics == ("update_relative_variance",)


@pytest.mark.parametrize(
    ("key", "scaling", "harmful"),
    [
        ("negative_add", "λ + |Δ|/|r|", (-2, -1)),  # λ = −0.5 leaves s > 0 at right angles
        ("negative_mult", "1 + λ|Δ|/|r|", (-2, -1)),
        ("negative_ratio", "|Δ|/(|r| + λ)", (-2, -1, -0.5)),
        ("negative_gain", "λ|Δ|/|r|", (-2, -1, -0.5)),
    ],
)
def test_each_scaling_has_a_claim_on_the_negative_strengths_that_harm_it(key, scaling, harmful):
    found = claim("feddpc", key)
    assert isinstance(found, Greater)
    assert found.where["scaling"] == scaling
    assert found.winner == {"lam": 1}
    assert found.loser == {"lam": harmful}
