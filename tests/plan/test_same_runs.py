"""Levels of an axis that are the very same runs are refused; single points may be one run."""

import pytest

from fedbench.plan.plan import make_plan
from fedbench.report.checks_before_training import check_report
from tests.report.test_hostile_names import project

PAPER = """
title: A tiny paper
authors: Nobody
settings: {model: {mlp: {hidden: 4}}, clients: 10, rounds: 2}
levels:
  dataset: {Digits: {dataset: digits}, MNIST: {dataset: mnist}}
  method: {A: {parts: []}, B: {parts: [asd]}, C: {parts: []}}
  alpha: {each: {partition: {dr: {alpha: $}}}}
  flat: {each: {partition: {dr: {alpha: 1}}}}
  lam: {each: {asd.lam: $}}
grids:
  main:
    seeds: [0, 1]
"""


def paper(**grid):
    return PAPER + "".join(f"    {field}: {text}\n" for field, text in grid.items())


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"axes": "{flat: [0.1, 1, 10]}"}, "flat: the levels 0.1, 1, 10 are the same runs; what a"),
        ({"axes": "{method: [A, B], flat: [0.1, 1]}"}, "flat: the levels 0.1, 1 are the same runs"),
        ({"axes": "{alpha: [1, 2], method: [A, B, C]}"}, "method: the levels A, C are the same"),
        (  # wherever both stand, which is at one point
            {"axes": "{alpha: [1, 2], method: [A, C]}", "without": "[{alpha: 2, method: C}]"},
            "method: the levels A, C are the same runs",
        ),
        (
            {
                "axes": "{normalise: [true, false]}",
                "cases": "[{where: {}, settings: {normalise: false}}]",
            },
            "normalise: the levels true, false are the same runs",
        ),
    ],
)  # fmt: skip
def test_levels_that_are_the_same_runs_are_refused(refuses, tmp_path, grid, words):
    with refuses(rf"papers/tiny\.yaml: grids\.main\.axes\.{words}"):
        make_plan(project(tmp_path, paper(**grid)), "paper")


@pytest.mark.parametrize(
    ("grid", "runs"),
    [
        # at alpha = 1 both methods are A, and at 2 they are not
        (
            {
                "axes": "{alpha: [1, 2], method: [A, B]}",
                "cases": "[{where: {alpha: 1, method: B}, settings: {parts: []}}]",
            },
            3,
        ),
        # never at one point
        (
            {
                "axes": "{alpha: [1, 2], method: [A, C]}",
                "without": "[{alpha: 1, method: A}, {alpha: 2, method: C}]",
            },
            2,
        ),
        ({"axes": "{alpha: [1, 2], method: [A, B]}"}, 4),
    ],
)
def test_single_points_may_be_one_run(tmp_path, grid, runs):
    plan = make_plan(project(tmp_path, paper(**grid)), "paper")
    assert len(plan.runs) == 2 * runs  # two seeds


def test_a_scale_may_put_one_data_set_in_the_place_of_two(tmp_path):
    folder = project(tmp_path, paper(axes="{dataset: [Digits, MNIST]}"))
    small = "about: x\nsubstitutes: {dataset: {mnist: digits}}\n"
    (folder / "scales/small.yaml").write_text(small)
    plan = make_plan(folder, "small")
    assert (len(plan.cells), len(plan.runs)) == (4, 2)
    check_report(plan, folder / "papers")
