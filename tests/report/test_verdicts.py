"""How often verdicts on made-up papers are wrong: 2.5 % at most, each way."""

import importlib.util
import sys

import pytest

from tests.project import ROOT

SPEC = importlib.util.spec_from_file_location("verdicts", ROOT / "benchmarks/verdicts.py")
verdicts = importlib.util.module_from_spec(SPEC)
sys.modules["verdicts"] = verdicts
SPEC.loader.exec_module(verdicts)
SETTINGS = {setting.name: setting for setting in verdicts.settings()}
PAPERS = 250
SLACK = 3 * (0.025 * 0.975 / PAPERS) ** 0.5  # three standard errors of a rate of 2.5 %


@pytest.mark.parametrize("name", [name for name, setting in SETTINGS.items() if setting.fits])
def test_a_verdict_is_wrong_in_five_percent_at_most_both_ways_together(name):
    setting = SETTINGS[name]
    held, failed = verdicts.rates(setting, 3, PAPERS)["after"]
    assert verdicts.wrong(setting, held, failed) <= 0.025 + SLACK


def test_a_claim_over_all_cells_can_hold_with_three_seeds():
    # leads of 8 points in 9 cells; s of a difference is √2 points. Bonferroni asks for t of
    # 1 − 0.025 / 9 with two degrees of freedom, 13.36, in each: 13.36 · 1.414 / √3 = 10.9 points
    found = verdicts.rates(SETTINGS["every of 9 cells, 8 points in each"], 3, 50)
    assert found["before"][0] < 0.1
    assert found["after"][0] > 0.9


def test_errors_are_as_frequent_as_they_may_be_at_the_limit():
    # one comparison at its limit is wrong in 2.5 % each way, and no less: the level is used up
    held, failed = verdicts.rates(SETTINGS["A > B, one comparison, at the limit"], 3, 2000)["after"]
    slack = 3 * (0.025 * 0.975 / 2000) ** 0.5
    assert held == pytest.approx(0.025, abs=slack)
    assert failed == pytest.approx(0.025, abs=slack)
