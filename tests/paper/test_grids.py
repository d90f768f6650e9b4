"""Grids with gaps, cases and common parts, and what a scale makes of them."""

import pytest

from fedbench.paper.grid_points import Substitution, points, resolve, substitutions
from fedbench.paper.paper import Paper
from fedbench.paper.scale import Cut, Scale, cut
from fedbench.paper.tables_and_figures import Case, Grid
from fedbench.plan.plan import make_plan
from fedbench.spec import RunSpec
from tests.project import PAPER, make_project

AXES = {"dataset": ("digits",), "method": ("FedAvg", "FedProx", "FedAvg+ASD"), "batch": (5, 10)}


def paper(**grid):
    return Paper(title="t", authors="a", grids={"g": {"axes": AXES, "seeds": [0], **grid}})


def spec(grid, **coords):
    found = paper(**grid)
    point = {"dataset": "digits", "method": "FedAvg", "batch": 5} | coords
    return RunSpec(**resolve(found, found.grids["g"], point))


def test_points_can_be_left_out():
    without = [{"method": ["FedProx", "FedAvg+ASD"], "batch": 5}, {"batch": 10, "method": "FedAvg"}]
    left = points(paper(without=without).grids["g"])
    assert [(p["method"], p["batch"]) for p in left] == [
        ("FedAvg", 5), ("FedProx", 10), ("FedAvg+ASD", 10),
    ]  # fmt: skip


def test_a_level_of_method_is_a_named_method_unless_the_paper_says_otherwise():
    named = spec({}, method="FedAvg+ASD")
    assert [str(part) for part in named.parts] == ["asd"]
    own = Paper(
        title="t", authors="a", grids={"g": {"axes": AXES, "seeds": [0]}},
        levels={"method": {"FedProx": {"parts": [{"fedprox": {"mu": 7}}]}}},
    )  # fmt: skip
    point = {"dataset": "digits", "method": "FedProx", "batch": 5}
    assert str(RunSpec(**resolve(own, own.grids["g"], point)).parts[0]) == "fedprox(mu=7)"


def test_cases_change_settings_and_parameters_where_they_match():
    cases = [
        {"where": {"method": "FedAvg+ASD"}, "settings": {"asd.lam": 20, "rounds": 3}},
        {"where": {"method": "FedAvg+ASD", "batch": 10}, "settings": {"asd.lam": 10}},
    ]
    small, large = (spec({"cases": cases}, method="FedAvg+ASD", batch=b) for b in (5, 10))
    assert (str(small.parts[0]), small.rounds) == ("asd(lam=20)", 3)
    assert (str(large.parts[0]), large.rounds) == ("asd(lam=10)", 3)
    assert spec({"cases": cases}).rounds == 10  # FedAvg: untouched


@pytest.mark.parametrize("field", ["without", "cases"])
def test_an_axis_that_is_not_there_is_refused(refuses, field):
    entry = {"where": {"methox": "x"}, "settings": {}} if field == "cases" else {"methox": "x"}
    with refuses(r"grids.g: no axis 'methox'; did you mean 'method'"):
        paper(**{field: [entry]})


@pytest.mark.parametrize(
    ("front", "message"),
    [
        ("bard", "front: no table 'bard'; did you mean 'board'?"),
        ("board", "front: table 'board' is ordered 'as listed'; the front page shows one that is"),
    ],
)
def test_the_front_page_shows_an_ordered_table(refuses, front, message):
    fields = {"grids": {"g": {"axes": AXES, "seeds": [0]}}, "front": front}
    board = {"title": "Board", "grid": "g", "rows": ["dataset", "batch"]}
    with refuses(message):
        Paper(title="t", authors="a", tables={"board": board}, **fields)
    ordered = board | {"order": "best first"}
    fields["front"] = "board"
    assert Paper(title="t", authors="a", tables={"board": ordered}, **fields).front == "board"


def test_a_case_must_name_a_part_of_the_run(refuses):
    case = {"where": {"method": "FedAvg"}, "settings": {"asd.lam": 1}}
    with refuses(r"'asd.lam' names no part of this run"):
        spec({"cases": [case]})


LAMS = {"lam": {"each": {"parts": [{"asd": {"lam": "$"}}]}}, "tau": {"each": {"asd.tau": "$"}}}


def strengths(axes, **settings):
    grid = {"axes": axes, "seeds": [0], "settings": settings}
    return Paper(title="t", authors="a", levels=LAMS, grids={"g": grid})


def test_a_level_may_set_a_parameter_of_parts_that_another_axis_names():
    found = strengths({"tau": [1, 4], "lam": [30]}, rounds=3)
    run = RunSpec(**resolve(found, found.grids["g"], {"tau": 4, "lam": 30}))
    assert (str(run.parts[0]), run.rounds) == ("asd(lam=30, tau=4)", 3)


def test_a_grids_setting_wins_over_a_level_that_is_alone():
    found = strengths({"lam": [30], "tau": [2]}, **{"asd.lam": 5})
    run = RunSpec(**resolve(found, found.grids["g"], {"lam": 30, "tau": 2}))
    assert str(run.parts[0]) == "asd(lam=5, tau=2)"


@pytest.mark.parametrize(
    ("axes", "settings"),
    [
        ({"lam": [1, 30]}, {"asd.lam": 5}),
        ({"lam": [1, 30]}, {"parts": ["asd"]}),
        ({"tau": [1, 4], "lam": [30]}, {"asd.tau": 2}),
        ({"rounds": [1, 2]}, {"rounds": 3}),
        ({"method": ["FedAvg", "MOON"]}, {"projection": 8}),  # MOON needs 256 beside its part
    ],
)
def test_a_grids_setting_that_would_flatten_an_axis_is_refused(refuses, axes, settings):
    key, axis = next(iter(settings)), next(iter(axes))
    words = rf"grids.g.settings: {key} would overwrite what the levels of the axis '{axis}' differ"
    with refuses(words):
        strengths(axes, **settings)


def test_parts_that_are_no_list_are_refused_at_their_place(refuses, tmp_path):
    workflow = make_project(tmp_path, PAPER.replace("{parts: []}", "{parts: 54}")) / "workflow"
    with refuses(r"tiny.yaml: levels.method.FedAvg: parts = 54 is not"):
        make_plan(workflow, "paper")


def test_common_parts_stand_before_the_methods():
    found = paper().model_copy(update={"always": ("meanofall",)})
    point = {"dataset": "digits", "method": "FedAvg+ASD", "batch": 5}
    parts = RunSpec(**resolve(found, found.grids["g"], point)).parts
    assert [part.name for part in parts] == ["meanofall", "asd"]


def test_factors_scale_counts_and_shares_before_the_limits():
    by = Cut(factors={"clients": 0.2, "participation": 4, "rounds": 0.01}, limit={"clients": 50})
    small = cut({"clients": 500, "participation": 0.3, "rounds": 10}, by)
    # 500 · 0.2 = 100, at most 50; 0.3 · 4 is more than everyone; 0.1 rounds are one
    assert small == {"clients": 50, "participation": 1.0, "rounds": 1}
    assert cut({"participation": 1}, by) == {"participation": 1.0}  # a share, though written whole
    assert cut({"clients": 12}, Cut(factors={"clients": 0.2})) == {"clients": 2}
    # a learning rate is no share: one of two that is ten times the other stays so
    assert cut({"lr": 0.5}, Cut(factors={"lr": 6})) == {"lr": 3.0}


def test_a_case_of_a_scale_changes_some_data_sets_and_models_alone():
    case = {"where": {"dataset": ["sst5", "agnews"]}, "factors": {"lr": 10}, "limit": {"rounds": 9}}
    model = {"where": {"model": "mlp"}, "settings": {"batch": 4}}
    by = Cut(factors={"lr": 2, "clients": 0.5}, limit={"rounds": 5}, cases=[case, model])
    run = {"lr": 0.1, "clients": 8, "rounds": 50, "batch": 64, "model": {"mlp": {"hidden": 4}}}
    # of the texts lr is multiplied by 10 in place of 2, the limit is 9, and the rest is as for all
    text = {"lr": 1.0, "clients": 4, "rounds": 9, "batch": 4}
    assert cut(run | {"dataset": "sst5"}, by).items() >= text.items()
    image = {"lr": 0.2, "clients": 4, "rounds": 5, "batch": 4}
    assert cut(run | {"dataset": "mnist"}, by).items() >= image.items()
    assert cut(run | {"dataset": "mnist", "model": "scnn"}, by)["batch"] == 64
    # a run of which neither is said, and whose rounds are left at their default, 10
    assert cut({"batch": 64}, by) == {"batch": 64, "rounds": 5}


def test_a_case_of_a_scale_may_name_numbers_of_the_paper(refuses):
    by = Cut(cases=[{"where": {"clients": [500, 300], "lr": 0.1}, "limit": {"clients": 25}}])
    assert cut({"clients": 500, "lr": 0.1}, by)["clients"] == 25
    assert cut({"clients": 100, "lr": 0.1}, by)["clients"] == 100
    assert cut({"clients": 500, "lr": 0.2}, by)["clients"] == 500
    assert cut({"clients": 500, "lr": None}, by)["clients"] == 500  # a run that sets no rate
    with refuses("where: no setting 'client'; did you mean 'clients'?"):
        Scale(about="", cases=[{"where": {"client": 5}}])


def test_a_case_of_a_scale_may_name_a_parameter(refuses):
    by = Cut(cases=[{"where": {"partition.alpha": [0.1, 0.3]}, "limit": {"rounds": 9}}])
    rounds = {"rounds": 50}
    assert cut(rounds | {"partition": {"dr": {"alpha": 0.1}}}, by)["rounds"] == 9
    for other in ({"dr": {"alpha": 1}}, {"sp": {"s": 2}}, "iid"):
        assert cut(rounds | {"partition": other}, by)["rounds"] == 50
    assert cut(rounds, by)["rounds"] == 50
    with refuses("where: no setting 'partitions'; did you mean 'partition'?"):
        Scale(about="", cases=[{"where": {"partitions.alpha": 1}}])


def test_parts_and_probes_are_substituted_by_name():
    by = Cut(substitutes={"parts": {"asd": {"asd": {"lam": 1}}}, "watch": {"steps": "spectrum"}})
    small = cut({"parts": ["fedprox", {"asd": {"tau": 3}}]}, by)
    assert [(p["name"], p["params"]) for p in small["parts"]] == [
        ("fedprox", {}), ("asd", {"tau": 3, "lam": 1}),
    ]  # fmt: skip


def test_a_grid_without_gaps_or_cases_is_what_it_was():
    grid = Grid(axes=AXES, seeds=(0,))
    assert len(points(grid)) == 6
    assert grid.cases == ()
    assert Case(where={}, settings={}).where == {}


def test_a_scale_keeps_some_tables_and_levels_and_says_what_it_leaves_out(tmp_path):
    workflow = make_project(tmp_path) / "workflow"
    (workflow / "scales/small.yaml").write_text(
        "about: small\npapers: {tiny: {keep: [table1], levels: {method: [FedAvg]}}}\n"
    )
    plan = make_plan(workflow, "small")
    assert list(plan.papers["tiny"].tables) == ["table1"]
    assert {cell.coords["method"] for cell in plan.cells} == {"FedAvg"}
    found = plan.left_out["tiny"]
    assert [title for title, _ in found.items] == ["Table II", "Fig. 1"]
    assert found.levels == {"method": ("FedProx",)}
    assert not make_plan(workflow, "paper").left_out["tiny"]


def test_points_that_a_later_case_runs_are_not_left_out(tmp_path):
    workflow = make_project(tmp_path) / "workflow"
    cases = "{seeds: 0, where: {method: FedProx}}, {seeds: 1, where: {method: FedProx}}"
    (workflow / "scales/small.yaml").write_text(
        f"about: small\npapers: {{tiny: {{seed_cases: [{cases}]}}}}\n"
    )
    plan = make_plan(workflow, "small")
    assert {cell.coords["method"] for cell in plan.cells} == {"FedAvg", "FedProx"}
    assert plan.left_out["tiny"].points == []


def test_a_case_may_set_parts_and_a_parameter_of_them():
    for settings in (
        {"fedprox.mu": 0.7, "parts": ["fedprox", "fedsam"]},
        {"parts": ["FedProx"], "fedprox.mu": 0.7},
    ):
        found = paper()
        grid = found.grids["g"].model_copy(update={"cases": (Case(where={}, settings=settings),)})
        parts = RunSpec(**resolve(found, grid, {"dataset": "digits", "method": "FedAvg"})).parts
        assert str(parts[0]) == "fedprox(mu=0.7)"


def test_a_scale_cannot_keep_what_is_not_there(refuses, tmp_path):
    workflow = make_project(tmp_path) / "workflow"
    (workflow / "scales/small.yaml").write_text("about: x\npapers: {tiny: {keep: [table9]}}\n")
    with refuses(r"papers.tiny.keep: no table or figure 'table9'"):
        make_plan(workflow, "small")


def test_what_differs_is_said_with_the_search_that_it_replaces():
    printed = RunSpec(lr=0.1, normalise=True, tune={"grid": {"lr": [0.1, 0.3, 1.0]}})
    small = RunSpec(lr=0.2, normalise=False, seed=7)
    assert substitutions(printed, small) == (
        Substitution("lr", "0.2", tried=3), Substitution("normalise", "off", "on"),
    )  # fmt: skip
    again = printed.changed(lr=0.3)  # is searched as before, whatever stands beside the search
    assert substitutions(printed, again) == ()
    same = RunSpec(lr=0.1, normalise=True)
    assert substitutions(printed, same) == (Substitution("lr", tried=3),)
    other = same.changed(tune={"grid": {"lr": [0.1, 0.5]}, "by": "mean"})
    assert substitutions(printed, other) == ()  # how a search chooses is no setting
    held = other.changed(validation=0.9)
    assert substitutions(printed, held) == (Substitution("validation", "0.9", "0"),)


def test_a_grid_may_have_one_partition_for_all_seeds(tmp_path):
    paper = PAPER.replace("seeds: [0, 1]", "seeds: [0, 1]\n    settings: {data_seed: 0}", 1)
    plan = make_plan(make_project(tmp_path, paper) / "workflow", "paper")
    fixed = {cell.seed: cell.run.partition_seed for cell in plan.cells if cell.grid == "main"}
    assert fixed == {0: 0, 1: 0}
