"""Levels of axes: truth values, numbers, and the same in quotes."""

import pytest

from fedbench.paper.grid_points import resolve
from fedbench.paper.paper import Paper
from fedbench.paper.yaml_notation import level_text
from fedbench.spec import RunSpec
from fedbench.spec.compositions import compositions
from tests.paper.test_grids import AXES, paper


def test_a_level_that_is_true_or_false_is_shown_as_such():
    axes = {"normalise": [True, False], "literal": [False, True]}
    levels = {"literal": {"each": {"parts": [{"asd": {"literal": "$"}}]}}}
    found = Paper(
        title="t", authors="a", grids={"g": {"axes": axes, "seeds": [0]}}, levels=levels
    ).grids["g"]  # fmt: skip
    assert [[level_text(x) for x in found.axes[axis]] for axis in axes] == [
        ["true", "false"], ["false", "true"],
    ]  # fmt: skip
    point = {"normalise": False, "literal": True}
    run = RunSpec(**resolve(Paper(title="t", authors="a", grids={}, levels=levels), found, point))
    assert (run.normalise, str(run.parts[0])) == (False, "asd(literal=True)")


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        (
            {"axes": {"lr": [0.1, None]}},
            "axes.lr.1 = None is not allowed: it must be text, true",
        ),
        ({"axes": {"lr": [0.1, [1]]}}, r"axes.lr.1 = \[1\] is not allowed: it must be text, true"),
        ({"without": [{"batch": [5, None]}]}, r"without.0.batch.1 = None is not allowed: it must"),
        ({"without": [{"batch": None}]}, "without.0.batch = None .* true or false, a number or a"),
    ],
)
def test_no_value_in_a_list_of_levels_is_named_where_it_stands(refuses, grid, words):
    with refuses(words):
        paper(**grid)


def test_true_is_no_number(refuses):
    with refuses("lr = True is not allowed: true or false is no number"):
        RunSpec(lr=True)
    claim = {"kind": "greater", "text": "t", "grid": "g", "winner": "FedProx", "by": True}
    with refuses("by = True is not allowed: true or false is no number"):
        Paper(
            title="t", authors="a", grids={"g": {"axes": AXES, "seeds": [0]}}, claims={"c": claim}
        )


def test_two_numbers_are_two_levels_however_near():
    found = paper(axes={"lr": [0.1234567, 0.1234568, 1e-7, 1000000.0]})
    texts = [level_text(x) for x in found.grids["g"].axes["lr"]]
    assert texts == ["0.1234567", "0.1234568", "1e-07", "1e+06"]


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"axes": {"lr": [0.1, "0.1"]}}, "axes.lr: '0.1' and 0.1 are the same level; once is"),
        ({"axes": {"lr": [1, ".5", "1.0"]}}, "axes.lr: '1.0' and 1 are the same level"),
        ({"axes": {"lr": [1, 1.0]}}, "axes.lr: 1 is given twice"),
        ({"without": [{"batch": "5"}]}, "batch: no level '5'; write it as it is listed: 5"),
        ({"without": [{"batch": 50}]}, "no level '50'; choose from 10, 5$"),  # not: is 5 meant?
        ({"cases": [{"where": {"batch": "5.0"}, "settings": {}}]}, "no level '5.0'; .* listed: 5"),
        (
            {"axes": {"normalise": [True]}, "without": [{"normalise": "true"}]},
            "no level 'true'; .* listed: true$",
        ),
    ],
)
def test_a_number_and_the_same_number_in_quotes_are_one(refuses, grid, words):
    with refuses(words):
        paper(**grid)


def test_texts_that_are_not_beside_numbers_stay_apart():
    assert paper(axes={"dataset": ["digits"], "precision": ["2.1", "2.10"]})


@pytest.mark.parametrize("axis", ["metric", "seed", "run", "value"])
def test_an_axis_has_no_name_of_a_column_beside_it(refuses, axis):
    levels = {axis: {"each": {"lr": "$"}}}
    grid = {"axes": {axis: [0.1, 1], "method": ["FedAvg"]}, "seeds": [0]}
    with refuses(f"grids.g.axes: an axis cannot be called '{axis}': (tables|figures)"):
        Paper(title="t", authors="a", levels=levels, grids={"g": grid})


@pytest.mark.parametrize("level", ["each", "others", "all", "none"])
def test_a_method_has_no_name_that_means_several(refuses, level, tmp_path, monkeypatch):
    fields = {"levels": {"method": {level: {"parts": ["asd"]}}}}
    grid = {"axes": {"method": ["FedAvg", level]}, "seeds": [0]}
    with refuses(f"grids.g.axes.method: a level cannot be called '{level}': "):
        Paper(title="t", authors="a", grids={"g": grid}, **fields)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "compositions.yaml").write_text(f"{level}: {{parts: [asd]}}")
    with refuses(rf"compositions\.yaml: a method cannot be called '{level}': "):
        compositions()
    if level != "each":  # of other axes it is a level as any other
        assert paper(axes={"dataset": ["digits"], "precision": [level, "float32"]})
