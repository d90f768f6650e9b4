"""A plan refuses what a report could not show, before anything is trained."""

import re

import pytest

from fedbench.base import registry
from fedbench.paper.metrics import columns
from fedbench.plan.plan import make_plan
from fedbench.report.checks_before_training import check_report
from fedbench.spec import RunSpec
from tests.project import PAPER, PRINTED
from tests.report.test_hostile_names import project

TABLE = "table1: {title: Table I, grid: main, rows: [dataset, alpha], columns: [method]}"


def table(more):
    return PAPER.replace(TABLE, TABLE.replace("}", f", {more}}}"))


def figure(more):
    return PAPER.replace("grid: main, where: {alpha: 1}}", f"grid: main, {more}}}")


WIDE = PAPER.replace("alpha: [1], method: [FedAvg, FedProx]", "alpha: [1, 2], method: [FedAvg]")

OVER = table("over: [alpha], where: {method: FedAvg}").replace("[dataset, alpha]", "[dataset]", 1)
OVER += "claims: {a: {text: A., kind: greater, table: table1, "


@pytest.mark.parametrize(
    ("paper", "words"),
    [
        (table("metrics: [acuracy]"), "table1.metrics: no metric 'acuracy'; did you mean 'acc"),
        (table("metrics: [step_norm, loss], order: best first"), "'step_norm' is no metric of"),
        (table("metrics: [val_accuracy]"), "no metric 'val_accuracy'"),  # nothing is held out
        (table("metrics: [silhouette]"), "'silhouette' is written by the probe 'embedding', which"),
        (figure("metric: losss"), "figures.fig1: no metric 'losss'; did you mean 'loss'?"),
        (figure("kind: density"), "reads the table of the probe 'spectrum', which run"),
        (figure("kind: {levels: {axis: beta}}"), "figures.fig1: no axis 'beta'"),
        (
            WIDE.replace("where: {alpha: 1}", "where: {}"),
            "figures.fig1: axis 'alpha' has several levels and is not shown",
        ),
        (figure("panels: [alpha], over: [alpha]"), "figures.fig1: axis 'alpha' is named twice"),
        (figure("over: [beta]"), "figures.fig1: no axis 'beta'"),
        (figure("kind: {lead: {base: FedAv}}"), "kind lead: no level 'FedAv'; did you mean"),
        (figure("kind: {curves: {ours: [FedPrx]}}"), "kind curves: no level 'FedPrx'; did you"),
        (figure("over: [metric]"), "figures.fig1: no axis 'metric'"),
        (table("over: [metric]"), "tables.table1: no axis 'metric'"),
        (figure("kind: {bars: {axis: metric}}"), "kind bars: axis = 'metric' has no levels"),
        (table("metrics: [steps/cosine]"), "'steps/cosine' is a table's; only claims read"),
        (figure("metric: steps/cosine"), "'steps/cosine' is a table's; only claims read"),
        (table("minus: {method: FedAvg}").replace("    seeds: [0, 1]", "    seeds: [0, 1]\n    "
         "without: [{method: FedAvg}]"), "tables.table1.minus: the run at"),
        (PAPER.replace("lr: 0.1}", "lr: 0.1, fedprox.mu: 1}").replace("[FedAvg, FedProx]",
         "[FedAvg, FedProx, Weak]").replace("  alpha: {each",
         "    Weak: {parts: [{fedprox: {mu: 0.01}}]}\n  alpha: {each"),
         "settings: fedprox.mu would overwrite what the levels of the axis 'method' differ in"),
        (table("where: {method: FedProx}").replace("    seeds: [0, 1]", "    seeds: [0, 1]\n    "
         "without: [{method: FedProx}]"), "table1: `without` leaves no point of the grid 'main'"),
        (PAPER.replace("    seeds: [0, 1]", "    seeds: [0, 1]\n    without: [{method: FedProx}]\n"
         "    cases: [{where: {method: FedProx}, settings: {lr: 1}}]"),
         "grids.main.cases: `without` leaves no point of the grid 'main' for method FedProx"),
        (table("metrics: ['round@to:macro_f1=60']"), "an accuracy or F1 above 0 and at most 1"),
        (PAPER + "claims: {a: {text: A., kind: greater, grid: main, winner: FedAvg, "
                 "loser: FedProx, metrics: [holdings/few], where: {beta: 1}}}",
         "claims.a.where: no axis 'beta'"),
        (OVER + "winner: {alpha: 1}}}", "a.winner: table table1 takes the mean over 'alpha'; name"),
        (OVER + "winner: FedAvg, where: {method: FedProx}}}",
         "claims.a.where: table table1 does not show method = FedProx; name its grid"),
        (OVER + "winner: FedAvg, metrics: [loss], where: {metric: accuracy}}}",
         "claims.a.metrics: where names 'metric' too"),
        (table("where: {method: FedPrx}"), "method: no level 'FedPrx'; did you mean 'FedProx'?"),
        (table("controls: [FedPrx]"), "tables.table1.controls: no method 'FedPrx'"),
        (table("over: [alpha]"), "tables.table1: axis 'alpha' is named twice"),
        (PAPER.replace("seeds: [0, 1]", "seeds: [0, 0]"), "grids.main.seeds: 0 is given twice"),
        (table("metrics: [loss, loss]"), "tables.table1.metrics: 'loss' is given twice"),
        (table("where: {method: []}"), "tables.table1.where.method: [] is not allowed: name at"),
        (PAPER.replace("settings: {model:", "settings: {tune: {grid: {lr: [1, 1]}}, model:"),
         "lr has 1 twice; once is enough"),
        (PAPER.replace("alpha: [1]", f"alpha: [{'a, ' * 60_000}]"), "more than 50,000 values"),
        (PAPER + "claims: {a: {text: A., kind: greater, grid: main, winner: FedAvg, "
                 "metrics: [steps/cosin]}}", "claims.a: no metric 'steps/cosin'"),
        (PAPER + "claims: {a: {text: A., kind: greater, grid: main, winner: FedAvg, "
                 "where: {metric: acuracy@best}}}", "claims.a: no metric 'acuracy'"),
        (PAPER + "claims: {a: {text: A., kind: trend, grid: main, "
                 "along: {metric: [loss, acuracy]}}}", "claims.a: no metric 'acuracy'"),
        (PAPER + "claims: {a: {text: A., kind: spread, grid: main, winner: FedAvg, loser: 3}}",
         "3 is not allowed: both sides must name levels"),
        (PAPER + "claims: {a: {text: A., kind: earlier, grid: main, winner: 3, loser: FedAvg}}",
         "3 is not allowed: both sides must name levels"),
        (PAPER + "claims: {a: {text: A., kind: spread, grid: main, winner: FedAvg, cells: mean}}",
         "cells: mean is not defined for deviations"),
        (PAPER + "claims: {a: {text: A., kind: greater, grid: main, winner: {metric: loss}, "
                 "loser: {metric: accuracy}, where: {metric: accuracy}}}",
         "claims.a: where.metric: what the claim compares names metrics itself"),
        (PAPER.replace("  table1:", "  runs:"), "cannot be called 'runs'"),
        (PAPER.replace("  fig1:", "  table1:"), "table1: a table or figure of that name is there"),
    ],
)  # fmt: skip
def test_what_the_yaml_file_tells(refuses, tmp_path, paper, words):
    with refuses() as caught:
        make_plan(project(tmp_path, paper), "paper")
    assert "tiny.yaml" in str(caught.value)
    assert words in str(caught.value)


def test_a_search_chooses_by_what_its_trials_will_have(refuses, tmp_path):
    lr = "settings: {model: {mlp: {hidden: 4}}, tune: {grid: {lr: [0.1, 1]}, by: 'B'},"
    for by, words in (
        ("acuracy@best", "tune.by: no metric 'val_acuracy'|tune.by: no metric 'acuracy'"),
        ("round@to:acc=0.5", "tune.by: no metric 'acc'"),
        ("accuracy@bset", "metric 'accuracy@bset': after @ must stand"),
        ("client_worst@final", "client_worst is not measured on held-out data; write"),
    ):
        paper = PAPER.replace("settings: {model: {mlp: {hidden: 4}},", lr.replace("B", by))
        with refuses(words):
            make_plan(project(tmp_path, paper), "paper")


@pytest.mark.parametrize("kind", ["boxes", "{boxes: {table: steps}}"])
def test_a_figure_of_a_probe_s_table_needs_runs_that_write_it(refuses, tmp_path, kind):
    paper = PAPER.replace("figures:\n", f"figures:\n  f: {{title: F, grid: main, kind: {kind}}}\n")
    with refuses("figures.f: kind boxes reads the table of the probe 'steps'"):
        make_plan(project(tmp_path, paper), "paper")


def figure_of(kind, tmp_path):
    paper = PAPER.replace("figures:\n", f"figures:\n  f: {{title: F, grid: main, kind: {kind}}}\n")
    plan = make_plan(project(tmp_path, paper), "paper")
    check_report(plan, tmp_path / "papers")
    return plan.papers["tiny"].figures["f"]


@pytest.mark.parametrize(("table", "column"), [("clients", "count"), ("holdings", "samples")])
def test_a_figure_of_a_table_of_every_run_needs_no_probe(tmp_path, table, column):
    assert figure_of(f"{{boxes: {{table: {table}, column: {column}, by: client}}}}", tmp_path)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("{boxes: {table: clients, column: cuont, by: client}}", "'cuont'; did you mean 'count'"),
        ("{boxes: {table: clients, column: count}}", "no column of table 'clients' 'step'"),
    ],
)
def test_a_column_that_is_not_there_is_refused_before_training(refuses, tmp_path, kind, words):
    with refuses(words):
        figure_of(kind, tmp_path)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"column": "cosin"}, "no column of table 'steps' 'cosin'; did you mean 'cosine'"),
        ({"reading": "r7"}, "reading = 'r7'"),
    ],
)
def test_options_of_weights_are_refused_where_they_are_built(refuses, wrong, words):
    with refuses(words):
        registry.build("figure", "weights", wrong)


def test_a_misspelt_metric_is_told_of_the_table_and_not_of_its_printed_numbers(refuses, tmp_path):
    paper = table("metrics: [acuracy]")
    with refuses(r"tiny\.yaml: tables\.table1\.metrics: no metric 'acuracy'"):
        make_plan(project(tmp_path, paper, printed=PRINTED), "paper")


def test_a_grid_of_too_many_cells_is_refused_before_it_is_made(refuses, tmp_path):
    levels = list(range(1, 300))
    paper = PAPER.replace("alpha: [1], method", f"alpha: {levels}, rounds: {levels}, method")
    with refuses(r"grids.main: 357,604 cells, seeds included; a grid"):
        make_plan(project(tmp_path, paper), "paper")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the columns must be table,dataset,setting,method,metric,mean,std"),
        (PRINTED.replace("mean,std", "mean"), "the columns must be"),
        (PRINTED.replace("90.0,1.0", "90.0"), "line 2 has 6 cells; it must have 7"),
        (PRINTED.replace("91.0", "nan"), "line 3: mean = 'nan' and std = '1.0' must be finite"),
        (PRINTED.replace("91.0,1.0", "91.0,-1"), "line 3: mean = '91.0' and std = '-1' must be"),
        (PRINTED.replace("table2", "table3"), "line 4: no table 'table3'; did you mean 'table"),
        (PRINTED.replace("FedProx", "FedPrx"), "line 3: table1 has no method 'FedPrx'; did you"),
        (PRINTED.replace("alpha=1,FedProx", "alpha=2,FedProx"), "line 3: table1 has no setting"),
        (PRINTED.replace("accuracy,91", "acuracy,91"), "line 3: table1 has no metric 'acuracy'"),
        (PRINTED + PRINTED.splitlines()[1] + "\n", "line 5 repeats line 2"),
        (PRINTED + '"', "no CSV"),
    ],
)  # fmt: skip
def test_what_the_printed_numbers_tell(refuses, tmp_path, text, words):
    with refuses() as caught:
        make_plan(project(tmp_path, printed=text), "paper")
    assert "tiny.printed.csv" in str(caught.value)
    assert words in str(caught.value)


def test_printed_numbers_that_are_no_text(refuses, tmp_path):
    folder = project(tmp_path, printed="")
    (folder / "papers/tiny.printed.csv").write_bytes(PRINTED.encode() + b"\xff")
    with refuses(r"tiny.printed.csv: not UTF-8 text \(byte 188\)"):
        make_plan(folder, "paper")


def test_a_paper_needs_no_printed_numbers(tmp_path):
    assert len(make_plan(project(tmp_path), "paper").runs) == 4


def test_an_option_of_a_figure_is_checked_before_training(refuses, tmp_path):
    plan = make_plan(project(tmp_path, figure("kind: {curves: {smooth: 0}}")), "paper")
    with refuses(r"tiny.yaml: figures.fig1: figure 'curves': smooth = 0 is not"):
        check_report(plan, tmp_path / "papers")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("kind: profile", "metric = 'accuracy' is no cost"),
        ("kind: {levels: {axis: method}}, hue: alpha", "level 'Fed.*' must be a number"),
        ("kind: lead, where: {method: FedProx}", "kind lead: no base 'FedAvg'"),
        ("kind: {curves: {x: units}}", "x: units counts epochs"),
    ],
)
def test_what_a_kind_cannot_draw_is_refused_before_training(refuses, tmp_path, more, words):
    paper = figure(more).replace("lr: 0.1}", "lr: 0.1, steps: 3}")
    plan = make_plan(project(tmp_path, paper), "paper")
    with refuses(f"tiny.yaml: figures.fig1: .*{words}"):
        check_report(plan, tmp_path / "papers")


def test_a_round_after_the_last_is_refused_before_training(refuses, tmp_path):
    late = PAPER.replace("Table I, grid: main", "Table I, metrics: [accuracy@3], grid: main")
    plan = make_plan(project(tmp_path, late), "paper")
    with refuses(
        "tiny.yaml: table1: metrics: 'accuracy@3' needs 3 rounds, but no run of the grid 'main' "
        "has more than 2 rounds"
    ):
        check_report(plan, tmp_path / "papers")


TUNED = "tune: {{grid: {{lr: [0.1, 1]}}, by: {}, trials: {{rounds: 1}}}}, "


@pytest.mark.parametrize(
    ("paper", "words"),
    [
        (table("metrics: ['accuracy@mean:50']"), "table1: .*'accuracy@mean:50' needs 50 rounds"),
        (figure("kind: {pareto: {cost: megabytes@500}}"), "fig1: .*'megabytes@500' needs 500"),
        (PAPER.replace("rounds: 2, ", "rounds: 2, " + TUNED.format("'accuracy@mean:2'")),
         "grids.main .*tune.by: 'accuracy@mean:2' needs 2 rounds, but a trial has 1"),
    ],
)  # fmt: skip
def test_rounds_that_no_run_has_are_refused_before_training(refuses, tmp_path, paper, words):
    plan = make_plan(project(tmp_path, paper), "paper")
    with refuses(f"tiny.yaml: {words}"):
        check_report(plan, tmp_path / "papers")


def test_a_scale_may_end_before_the_round_of_a_metric(tmp_path):
    last = PAPER.replace("Table I, grid: main", "Table I, metrics: [accuracy@2], grid: main")
    folder = project(tmp_path, last)
    (folder / "scales/short.yaml").write_text("about: One round.\nlimit: {rounds: 1}\n")
    plan = make_plan(folder, "short")
    assert {run.rounds for run in plan.runs.values()} == {1}
    check_report(plan, folder / "papers")


def test_a_value_out_of_range_is_told_with_its_place(cli, tmp_path):
    folder = project(
        tmp_path,
        PAPER.replace(
            "axes: {dataset: [Digits], alpha: [1],", "axes: {dataset: [Digits], alpha: [-1, 1],"
        ),
    )
    said = cli("plan", "--check", "--scale", "paper", "--workflow", folder)
    assert said.exit_code == 2
    words = " ".join(said.output.split())
    assert "tiny.yaml: grids.main at {'dataset': 'Digits', 'alpha': -1" in words
    assert "partition 'dr': alpha = -1" in words


NONE = "no cell of the grid has both sides of the comparison"
TIMES = "metrics = round@to:0.5 is not allowed with the kind 'earlier'"


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("kind: greater, loser: FedAvg", NONE),
        ("kind: earlier, loser: FedProx, metrics: ['round@to:0.5']", TIMES),
    ],
)
def test_a_claim_that_compares_nothing_is_refused_before_training(refuses, tmp_path, claim, words):
    claim = f"{{grid: main, text: A., winner: FedAvg, {claim}}}"
    plan = make_plan(project(tmp_path, PAPER + f"claims: {{a: {claim}}}"), "paper")
    with refuses(f"tiny.yaml: claims.a: {words}"):
        check_report(plan, tmp_path / "papers")


def test_columns_follow_from_parts_probes_and_held_out_data():
    assert {"accuracy", "train_loss", "best_round"} <= columns(RunSpec())
    assert not {"val_accuracy", "accuracy[next]", "silhouette"} & columns(RunSpec())
    assert "val_accuracy" in columns(RunSpec(validation=0.1))
    assert {"accuracy[next]", "loss[selected]"} <= columns(RunSpec(parts=["feddyn"]))
    assert "silhouette" in columns(RunSpec(watch=["embedding"]))


@pytest.mark.parametrize("name", registry.entries("probe"))
def test_every_probe_declares_what_it_writes(name):
    found = registry.find("probe", name).constants
    assert found.get("COLUMNS") or found.get("TABLE")


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"gap": "Gap"}, "probe 'gaps': COLUMNS: 'gap' has Gap; it must have its label, its unit"),
        ({"gap": ("Gap", "%")}, "'gap' has ('Gap', '%'); it must"),
        ({"gap": ("Gap", "%", "down")}, "'gap' has ('Gap', '%', 'down'); it must"),
        (["gap"], "COLUMNS = ['gap'] must be a mapping, by column's name"),
    ],
)
def test_a_probe_says_of_its_columns_what_reports_need(monkeypatch, refuses, declared, words):
    entry = registry.Entry("gaps", "", "", {}, "", {"COLUMNS": declared})
    monkeypatch.setattr(registry, "find", lambda kind, name: entry)
    with refuses(re.escape(words)):
        columns(RunSpec(watch=["gaps"]))
