"""From a paper and a scale to runs."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from fedbench.base.errors import FedbenchError
from fedbench.paper.grid_points import Substitution, matches
from fedbench.plan import workflow_paths
from fedbench.plan.cost import Speeds, by_table
from fedbench.plan.data_checks import data_key
from fedbench.plan.plan import make_plan
from fedbench.plan.plan_file import PlanFile, fingerprint, planned_file, to_json, write_plan
from fedbench.plan.search import search_id, trial_runs
from fedbench.plan.workflow_paths import WorkflowPaths
from fedbench.spec import RunSpec
from fedbench.spec.compositions import compositions
from tests.project import PAPER, PRINTED, ROOT, make_project

# The tiny paper, its main grid on two data sets and with searches
SEARCHED = (
    PAPER.replace("Digits: {dataset: digits}", "Digits: {dataset: digits}, Toy: {dataset: toy}")
    .replace("dataset: [Digits], alpha: [1], method: [FedAvg, FedProx]",
             "dataset: [Digits, Toy], alpha: [1], method: [FedAvg, FedProx]")
    .replace("where: {alpha: 1}", "where: {alpha: 1}, panels: [dataset]")
    .replace("seeds: [0, 1]", "seeds: [0, 1]\n    settings: {tune: {grid: {lr: [0.1, 0.2]}}}")
)  # fmt: skip


@pytest.fixture
def tiny(tmp_path):
    return make_project(tmp_path) / "workflow"


def test_a_grid_is_every_combination_with_every_seed(tiny):
    plan = make_plan(tiny, "paper")
    # main: 1 data set × 1 α × 2 methods × 2 seeds; again: 1 × 1 × 1 × 1
    assert len(plan.cells) == 5
    assert len(plan.runs) == 4  # FedAvg with seed 0 is shared
    assert not any(cell.substituted for cell in plan.cells)


def test_settings_are_the_papers_then_the_levels_then_the_grids(tmp_path):
    text = PAPER.replace("Digits: {dataset: digits}", "Digits: {dataset: digits, rounds: 7}")
    plan = make_plan(make_project(tmp_path, text) / "workflow", "paper")
    assert {run.rounds for run in plan.runs.values()} == {7}
    text = text.replace("seeds: [0]}", "seeds: [0], settings: {rounds: 9}}")
    (tmp_path / "workflow/papers/tiny.yaml").write_text(text)
    plan = make_plan(tmp_path / "workflow", "paper")
    assert [(cell.grid, cell.run.rounds) for cell in plan.cells] == [("main", 7)] * 4 + [
        ("again", 9)
    ]


def test_a_scale_cuts_and_names_what_it_substitutes(tiny):
    (tiny / "scales/small.yaml").write_text(
        "about: small\nseeds: 1\nlimit: {rounds: 1, clients: 50}\n"
        "substitutes: {model: {mlp: {mlp: {hidden: 2}}}}\n"
    )
    plan = make_plan(tiny, "small")
    assert len(plan.runs) == 2
    run = next(iter(plan.runs.values()))
    assert (run.rounds, run.clients, run.model.params) == (1, 10, {"hidden": 2})
    model = Substitution("model", "mlp(hidden=2)", "mlp(hidden=4)")
    assert {c.substituted for c in plan.cells} == {(model, Substitution("rounds", "1", "2"))}


def test_a_scale_replaces_a_sampler_that_the_paper_does_not_name(tiny):
    (tiny / "scales/small.yaml").write_text(
        "about: small\nsubstitutes: {sampler: {uniform: bernoulli}}\n"
    )
    plan = make_plan(tiny, "small")
    assert {run.sampler.name for run in plan.runs.values()} == {"bernoulli"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "cases: [{where: {partition.alhpa: 0.1}}]",
            "'partition.alhpa'; did you mean 'partition.a",
        ),
        ("cases: [{where: {rounds.alpha: 0.1}}]", "no parameter 'rounds.alpha'"),
        ("limit: {model: 3}", "limit: no numeric setting 'model'"),
        (
            "cases: [{where: {}, factors: {partition: 0.1}}]",
            "no numeric setting 'partition'",
        ),
        ("trial_limit: {seed: 1}", "trial_limit: no numeric setting 'seed'"),
        ("limit: {nesterov: 0}", "limit: no numeric setting 'nesterov'"),
        ("limit: {rounds: 2.7}", r"limit: rounds = 2\.7 must be a whole number"),
        ("levels: {alpha: []}", r"levels.alpha = \[\] is not allowed: at least one"),
        (
            "cases: [{where: {model: mpl}}]",
            r"cases\.where\.model: no model 'mpl'; did you",
        ),
        ("cases: [{where: {dataset: [digits, digit]}}]", r"where\.dataset: no dataset 'digit'"),
        ("substitutes: {model: {mpl: mlp}}", r"substitutes\.model: no model 'mpl'"),
        ("substitutes: {model: {rn8: {mlp: {hid: 2}}}}", r"model 'mlp': no parameter 'hid'"),
        ("substitutes: {parts: {moom: moon}}", r"substitutes\.parts: no method 'moom'"),
        ("papers: {tiny: {substitutes: {watch: {spectra: spectrum}}}}", "no probe 'spectra'"),
        ("seed_cases: [{seeds: 1, where: {method: FedAvgg}}]", "method: no level 'FedAvgg'"),
        ("seed_cases: [{seeds: 1, where: {methd: FedAvg}}]", "no axis 'methd'"),
        ("seed_cases: [{seeds: 1, grids: [mainly]}]", r"seed_cases\.grids: no grid 'mainly'"),
        (
            "papers: {tiny: {seed_cases: [{seeds: 1, where: {method: [FedAvg, FedAvgg]}}]}}",
            r"papers\.tiny\.seed_cases\.where\.method: no level 'FedAvgg'",
        ),
        (
            "papers: {tiny: {seed_cases: [{seeds: 1, where: {}, grids: [main, mainly]}]}}",
            r"papers\.tiny\.seed_cases\.grids: no grid 'mainly'",
        ),
    ],
)
def test_a_misspelt_name_in_a_scale_is_refused(refuses, tiny, text, words):
    (tiny / "scales/small.yaml").write_text(f"about: small\n{text}\n")
    with refuses(rf"small\.yaml.*{words}"):
        make_plan(tiny, "small", ("tiny",))


def test_a_scale_may_name_what_only_other_papers_have(tiny):
    (tiny / "scales/small.yaml").write_text(
        "about: small\ncases: [{where: {model: rn8}}]\nsubstitutes: {parts: {moon: moon}}"
    )
    assert len(make_plan(tiny, "small").runs) == 4


def test_a_value_of_a_scale_is_not_blamed_on_the_paper(refuses, tiny):
    (tiny / "scales/bad.yaml").write_text("about: A.\nsettings: {lr: -1}\n")
    with refuses("tiny.yaml: grids.main at .*: as the scale has it: lr = -1 is not allowed"):
        make_plan(tiny, "bad")


def test_a_seed_is_no_setting_of_a_scale(refuses, tiny):
    (tiny / "scales/small.yaml").write_text("about: small\nsettings: {seed: 5}\n")
    with refuses("settings: seed = 5 is not allowed: seeds are listed under `seeds` of a grid"):
        make_plan(tiny, "small")


def test_a_papers_own_cut_wins_over_the_common_one(tiny):
    (tiny / "scales/small.yaml").write_text(
        "about: small\nlimit: {rounds: 1}\nsettings: {lr: 0.5}\n"
        "papers: {tiny: {settings: {lr: 0.7}}}\n"
    )
    run = next(iter(make_plan(tiny, "small").runs.values()))
    assert (run.rounds, run.lr) == (1, 0.7)


def test_a_papers_own_cut_wins_over_the_common_cases_too(tiny):
    case = "{where: {model: mlp}, settings: {lr: 0.5, batch: 4}, limit: {clients: 8}}"
    (tiny / "scales/small.yaml").write_text(
        f"about: small\ncases: [{case}]\nseed_cases: [{{seeds: 1, where: {{method: FedProx}}}}]\n"
        "papers: {tiny: {settings: {lr: 0.7}, limit: {clients: 5}, seeds: 2}}\n"
    )
    plan = make_plan(tiny, "small")
    assert {(x.lr, x.clients, x.batch) for x in plan.runs.values()} == {(0.7, 5, 4)}
    seeds = [cell.seed for cell in plan.cells if cell.coords["method"] == "FedProx"]
    assert seeds == [0, 1]


def unprinted(folder):
    """The project, without numbers that its paper prints."""
    (folder / "workflow/papers/tiny.printed.csv").unlink()
    return folder


EVERY = """
title: All methods
authors: Nobody
settings: {dataset: digits, rounds: 2}
grids:
  main:
    axes: {method: every}
    seeds: [0]
    main_parameters: true
    settings: {tune: {grid: {lr: [0.1, 0.01]}}}
"""


def test_a_grid_of_every_method_searches_the_main_parameter_of_each(tmp_path):
    plan = make_plan(unprinted(make_project(tmp_path, EVERY)) / "workflow", "paper")
    runs = {cell.coords["method"]: cell.run for cell in plan.cells}
    assert list(runs) == list(compositions())
    trials = {name: len(trial_runs(run)) for name, run in runs.items()}
    assert (trials["FedAvg"], trials["FedProx"]) == (2, 2 * 3)  # FedAvg has no parameter
    assert runs["FedProx"].tune.grid["fedprox.mu"] == (0.001, 0.01, 0.1)


def test_a_scale_gives_some_points_of_a_grid_more_seeds_or_none(tiny):
    (tiny / "scales/small.yaml").write_text(
        "about: small\nseeds: 1\npapers:\n  tiny:\n    seed_cases:\n"
        "    - {seeds: 2, where: {method: FedProx}}\n    - {seeds: 0, grids: [again]}\n"
    )
    plan = make_plan(tiny, "small")
    seeds = [(cell.grid, cell.coords["method"], cell.seed) for cell in plan.cells]
    assert seeds == [("main", "FedAvg", 0), ("main", "FedProx", 0), ("main", "FedProx", 1)]
    found = plan.left_out["tiny"]
    assert [title for title, _ in found.items] == ["Table II"]  # the only one that shows 'again'
    assert (found.points, found.levels) == ([], {})


def test_what_is_left_out_says_what_an_axis_is_where_the_file_does(tmp_path):
    text = PAPER.replace("alpha: [1], method", "alpha: [1, 0.5, 2], method")
    text = text.replace("grids:", "axes: {alpha: skew of the labels}\ngrids:", 1)
    make_project(tmp_path, text)
    scale = "about: Half.\npapers: {tiny: {levels: {alpha: [1], method: [FedAvg]}}}\n"
    (tmp_path / "workflow/scales/half.yaml").write_text(scale)
    found = make_plan(tmp_path / "workflow", "half").left_out["tiny"]
    assert found.levels == {"alpha": (0.5, 2), "method": ("FedProx",)}
    assert found.axes == {"alpha": "skew of the labels"}


def test_points_that_are_left_out_name_the_tables_that_lack_them(tmp_path):
    text = PAPER.replace("FedProx", '"FedProx, weak"')
    unprinted(make_project(tmp_path, text))
    (tmp_path / "workflow/scales/half.yaml").write_text(
        "about: Half.\npapers:\n  tiny:\n    seed_cases:\n"
        '    - {seeds: 0, where: {method: "FedProx, weak"}, grids: [main]}\n'
    )
    found = make_plan(tmp_path / "workflow", "half").left_out["tiny"]
    (gone,) = found.points
    assert gone == ('method "FedProx, weak"', ["Table I", "Fig. 1"])
    assert (found.items, found.levels) == ([], {})


def test_a_title_that_is_left_out_names_the_version_that_is_shown(tmp_path):
    short = "short: {title: 'Table II, in short', grid: main, rows: [alpha], columns: [method]}"
    text = PAPER.replace("figures:", f"  {short}\nfigures:")
    make_project(tmp_path, text)
    scale = "about: Half.\npapers: {tiny: {keep: [table1, short]}}\n"
    (tmp_path / "workflow/scales/half.yaml").write_text(scale)
    found = make_plan(tmp_path / "workflow", "half").left_out["tiny"]
    assert found.items == [("Table II", ["in short"]), ("Fig. 1", [])]


def test_words_for_an_axis_that_no_grid_has_are_refused(tmp_path):
    make_project(tmp_path, PAPER.replace("grids:", "axes: {alphas: skew}\ngrids:", 1))
    with pytest.raises(FedbenchError, match=r"axes: no axis 'alphas'; did you mean 'alpha'"):
        make_plan(tmp_path / "workflow", "paper")


def test_a_number_without_a_point_is_cut_as_any_other(tmp_path):
    make_project(tmp_path, PAPER.replace("lr: 0.1}", "lr: 1}", 1))
    (tmp_path / "workflow/scales/half.yaml").write_text("about: x\nfactors: {lr: 0.3}\n")
    plan = make_plan(tmp_path / "workflow", "half")
    assert {run.lr for run in plan.runs.values()} == {0.3}


def test_a_number_at_its_default_is_cut_as_any_other(tmp_path):
    make_project(tmp_path, PAPER.replace(", rounds: 2, lr: 0.1}", "}", 1))
    assert (RunSpec().rounds, RunSpec().lr, RunSpec().momentum) == (10, 0.1, 0)
    case = "{where: {momentum: 0}, limit: {batch: 9}}"
    text = f"about: x\nfactors: {{rounds: 0.5, lr: 3}}\npapers: {{tiny: {{cases: [{case}]}}}}\n"
    (tmp_path / "workflow/scales/half.yaml").write_text(text)
    plan = make_plan(tmp_path / "workflow", "half")
    assert {(run.rounds, run.lr, run.batch) for run in plan.runs.values()} == {(5, 0.3, 9)}


def test_seeds_for_points_that_no_grid_has_are_refused(tiny):
    (tiny / "scales/small.yaml").write_text(
        "about: small\npapers: {tiny: {seed_cases: [{seeds: 2, where: {method: FedNone}}]}}\n"
    )
    with pytest.raises(FedbenchError, match=r"papers\.tiny\.seed_cases.*: no level 'FedNone'"):
        make_plan(tiny, "small")


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("{dataset: mnist}", "dataset mnist"),
        ("{dataset: digits, partition.s: [1, 2]}", "dataset digits and partition.s 1, 2"),
        ("{rounds: 1}", "rounds 1"),
    ],
)
def test_a_case_that_means_no_run_is_refused(tiny, where, words):
    case = f"{{where: {where}, settings: {{lr: 1}}}}"
    (tiny / "scales/small.yaml").write_text(
        f"about: small\npapers: {{tiny: {{cases: [{case}]}}}}\n"
    )
    with pytest.raises(
        FedbenchError, match=rf"papers\.tiny\.cases: no run of the paper has {words}$"
    ):
        make_plan(tiny, "small")


def test_tables_selects_only_the_grids_behind_them(tiny):
    plan = make_plan(tiny, "paper", tables=("table2",))
    assert len(plan.runs) == 1
    assert list(plan.papers["tiny"].tables) == ["table2"]
    assert make_plan(tiny, "paper", tables=("tiny/fig1",)).papers["tiny"].tables == {}


def test_matches_takes_one_level_or_several():
    coords = {"alpha": 1, "method": "MFL"}
    assert matches(coords, {"alpha": 1})
    assert matches(coords, {"method": ("MFL", "RMFL")})
    assert not matches(coords, {"alpha": 0.1})


def test_a_search_is_shared_by_seeds_and_its_trials_hold_data_out():
    tune = {"grid": {"lr": [0.1, 0.2], "fedprox.mu": [0, 1]}, "seeds": [0, 1]}
    runs = [RunSpec(parts=["fedprox"], tune=tune, seed=s) for s in (0, 5)]
    assert search_id(runs[0]) == search_id(runs[1])
    trials = trial_runs(runs[1])
    assert [t.id for t in trials] == [t.id for t in trial_runs(runs[0])]
    assert len(trials) == 2 * 2 * 2
    assert {t.validation for t in trials} == {0.1}
    assert {(t.lr, t.parts[0].params["mu"], t.seed) for t in trials} == {
        (lr, mu, s) for lr in (0.1, 0.2) for mu in (0, 1) for s in (0, 1)
    }


def test_tuning_on_the_test_set_holds_nothing_out():
    run = RunSpec(tune={"grid": {"lr": [0.1]}, "on": "test"})
    assert [t.validation for t in trial_runs(run)] == [0.0]


def test_jobs_never_mix_data_sets_or_searches_and_cover_every_run(tiny):
    (tiny / "papers/tiny.yaml").write_text(SEARCHED)
    plan = make_plan(tiny, "paper")
    # 2 data sets × 2 methods × 2 seeds; 4 searches with 2 trials each; one run without a search
    assert len(plan.runs) == 8 + 8 + 1
    paths = WorkflowPaths(plan, plan, tiny, tiny)
    jobs = paths.jobs(3, None, Speeds())
    assert len({job.search for job in jobs}) == 1 + 4
    assert sorted(run_id for job in jobs for run_id in job.runs) == sorted(plan.runs)
    for job in jobs:
        assert {data_key(run.dataset) for run in job.runs.values()} == {job.data}
        assert {plan.searches.get(run_id, "") for run_id in job.runs} == {job.search}
        assert len(job.runs) <= 3


def test_the_longest_job_comes_first(tiny):
    # FedAvg trains 2 rounds, FedProx 200: with a run a job, FedProx starts first
    text = PAPER.replace("mu: 0.1}}]", "mu: 0.1}}], rounds: 200")
    (tiny / "papers/tiny.yaml").write_text(text)
    plan = make_plan(tiny, "paper")
    first = WorkflowPaths(plan, plan, tiny, tiny).jobs(1, 2, Speeds())[:2]
    assert all("fedprox" in run_id for job in first for run_id in job.runs)


@pytest.fixture
def written(tiny, tmp_path):
    """The plan with searches, and the file that it was written to."""
    (tiny / "papers/tiny.yaml").write_text(SEARCHED)
    plan = make_plan(tiny, "paper")
    write_plan(plan, tmp_path)
    return plan, planned_file(tmp_path, "paper")


def test_the_plan_survives_being_written(refuses, written):
    plan, file = written
    assert len(plan.trials) == 4
    assert PlanFile(file).plan() == plan
    file.write_text(to_json(plan)[:1000])
    with refuses(r"plan-\w+\.json: is no plan"):
        PlanFile(file)
    file.unlink()
    with refuses(r"plan-\w+\.json: there is no plan; start the workflow"):
        PlanFile(file)


def test_a_part_of_the_papers_at_a_smaller_scale_survives_too(tiny, tmp_path):
    (tiny / "scales/small.yaml").write_text(
        "about: small\nspeeds: {mlp: 7}\n"
        "papers: {tiny: {levels: {method: [FedAvg]}, about: Why.}}\n"
    )
    plan = make_plan(tiny, "small", (), ("table1", "fig1"))
    write_plan(plan, tmp_path)
    read = PlanFile(planned_file(tmp_path, "small")).plan()
    assert read == plan
    assert (read.cuts.speeds, read.cuts.about) == ({"mlp": 7}, "small")
    assert read.left_out["tiny"].levels == {"method": ("FedProx",)}


def test_the_plan_of_all_papers_survives_too(tmp_path):
    plan = make_plan(ROOT / "workflow", "demo")
    write_plan(plan, tmp_path)
    read = PlanFile(planned_file(tmp_path, "demo")).plan()
    # a run of two papers may be written in two ways, with a default or without
    ids, known = (
        [(x.paper, x.grid, x.coords, x.seed, x.run_id) for x in y.cells] for y in (plan, read)
    )
    assert ids == known
    assert [x.substituted for x in read.cells] == [x.substituted for x in plan.cells]
    assert replace(read, cells=plan.cells) == plan


def test_a_plan_of_other_tables_or_words_is_another_file_in_its_place(tiny, tmp_path):
    both, one = (make_plan(tiny, "paper", (), tables) for tables in ((), ("table2",)))
    assert fingerprint(make_plan(tiny, "paper")) == fingerprint(both) != fingerprint(one)
    write_plan(both, tmp_path)
    first = planned_file(tmp_path, "paper")
    write_plan(one, tmp_path)
    assert planned_file(tmp_path, "paper") != first
    assert not first.exists()
    paper = tiny / "papers/tiny.yaml"
    paper.write_text(paper.read_text().replace("title: Fig. 1", "title: Fig. 9"))
    assert fingerprint(make_plan(tiny, "paper")) != fingerprint(both)


def test_a_run_that_is_not_what_its_id_says_is_refused(refuses, written):
    plan, file = written
    mine = next(iter(plan.runs))
    file.write_text(to_json(plan).replace('"rounds": 2', '"rounds": 3'))
    with refuses(rf"run {mine} has other settings than its id says; delete the file and start"):
        PlanFile(file).runs([mine])
    with refuses("has other settings than its id says; delete the file and start"):
        PlanFile(file).of_paper("tiny")


def test_a_run_taken_out_of_a_papers_list_is_noticed(refuses, written):
    plan, file = written
    text = json.loads(to_json(plan))
    text["points"][0]["runs"].pop()
    file.write_text(json.dumps(text))
    with refuses(r"lists of runs are not those that it was made with\); delete it and start"):
        PlanFile(file)


def test_an_unknown_search_is_told_with_those_that_there_are(refuses, written):
    plan, file = written
    with refuses(rf"no search in this plan 'none'; choose from .*{next(iter(plan.trials))}"):
        PlanFile(file).searched("none")


def test_a_search_is_read_with_its_trials_alone(written):
    plan, file = written
    search, trials = next(iter(plan.trials.items()))
    run = PlanFile(file).searched(search)
    assert plan.searches[run.id] == search
    assert [trial.id for trial in trial_runs(run)] == trials


def test_a_plan_that_lacks_a_run_of_a_paper_is_refused(refuses, written):
    plan, file = written
    lost = next(cell.run_id for cell in plan.cells if not cell.run.tune)
    file.write_text(to_json(plan).replace(f'"{lost}": {{', '"other": {'))
    with refuses(r"lists of runs are not those that it was made with\); delete it and start"):
        PlanFile(file)


def test_the_frame_of_a_huge_paper_waits_for_one_run_of_each_job(tiny, tmp_path, monkeypatch):
    plan = make_plan(tiny, "paper")
    paths = WorkflowPaths(plan, plan, tmp_path / "results", tmp_path)
    (job,) = paths.jobs(4, 1, Speeds())
    stamps = paths.stamps(job.runs)
    assert paths.awaited("tiny", [job]) == paths.stamps(paths.runs("tiny"))
    monkeypatch.setattr(workflow_paths, "_MANY", 3)
    assert paths.awaited("tiny", [job]) == stamps[:1]
    for age, stamp in enumerate((paths.frame("tiny"), *stamps)):
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.touch()
        os.utime(stamp, (1_000 - age, 1_000 - age))
    # all older than the frame; one that was trained anew; one that is gone; one that has no job
    assert paths.awaited("tiny", [job]) == stamps[:1]
    stamps[2].touch()
    assert paths.awaited("tiny", [job]) == [stamps[2]]
    stamps[3].unlink()
    assert paths.awaited("tiny", [job]) == [stamps[3]]
    assert paths.awaited("tiny", []) == sorted(stamps)


def test_a_job_reads_only_its_own_runs(refuses, written):
    plan, file = written
    mine, other = list(plan.runs)[:2]
    # what only another job trains is not looked at, whatever it says
    file.write_text(to_json(plan).replace(f'"{other}": {{', f'"{other}": {{ "clients": -1,', 1))
    assert PlanFile(file).runs([mine]) == {mine: plan.runs[mine]}
    with refuses("is no plan"):
        PlanFile(file).plan()
    with refuses("no run in this plan 'else'"):
        PlanFile(file).runs([mine, "else"])


def test_without_copies_a_report_has_pages_and_csv_alone(tiny, tmp_path):
    plan = make_plan(tiny, "paper")
    paths = WorkflowPaths(plan, plan, tmp_path / "results", tmp_path)
    assert {Path(x).suffix for x in paths.figures()} == {".svg", ".png", ".pdf"}
    alone = replace(paths, copies=False)
    assert alone.figures() == []
    assert {Path(x).suffix for x in alone.tables()} == {".csv"}
    assert {*alone.tables()} < {*paths.tables()}


def test_the_id_of_a_run_is_worked_out_once_for_each_cell(tiny, monkeypatch):
    # it is a checksum of all settings, and most of the time that a plan of 100,000 runs takes
    asked, known = [], RunSpec.settings
    monkeypatch.setattr(RunSpec, "settings", lambda run: asked.append(1) or known(run))
    plan = make_plan(tiny, "paper")
    paths = WorkflowPaths(plan, plan, tiny, tiny)
    paths.jobs(24, 2, Speeds())
    assert len(paths.runs("tiny")) == 4
    by_table(plan, Speeds())
    to_json(plan)
    assert len(asked) == len(plan.cells) == 5
    copied = plan.cells[0].run.model_copy(update={"seed": 7})
    assert copied.id == plan.cells[0].run.changed(seed=7).id != plan.cells[0].run_id


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("papers/tiny.yaml", "title:", "title: [", "not valid YAML"),
        ("papers/tiny.yaml", "authors: Nobody", "", "authors is missing"),
        ("papers/tiny.yaml", "fedprox:", "fedprx:", "did you mean 'fedprox'?"),
        ("papers/tiny.yaml", "seeds: [0, 1]", "seeds: []", "seeds"),
        ("papers/tiny.yaml", "seeds: [0, 1]", "seed: [0, 1]", "seed"),
        ("papers/tiny.yaml", "[FedAvg, FedProx]", "[FedAvg, FedPox]", "no level 'FedPox'"),
        (
            "papers/tiny.yaml",
            "authors: Nobody",
            "authors: a\nauthors: b",
            "'authors' is given twice",
        ),
        ("scales/paper.yaml", "about: As printed.", "abut: x", "abut"),
        ("scales/paper.yaml", "printed.", "printed.\nseeds: 0", "seeds = 0 is not allowed"),
        (
            "scales/paper.yaml",
            "printed.",
            "printed.\npapers: {tinny: {}}",
            "no paper 'tinny'; did you mean 'tiny'",
        ),
        ("scales/paper.yaml", "printed.", "printed.\nsettings: {lr: -1}", "lr = -1 is not allowed"),
        (
            "scales/paper.yaml",
            "printed.",
            "printed.\nlevels: {methd: [FedAvg]}",
            "levels: no axis 'methd'; did you mean 'method'?",
        ),
        (
            "scales/paper.yaml",
            "printed.",
            "printed.\npapers: {tiny: {levels: {method: [FedAv]}}}",
            "papers.tiny.levels.method: no level 'FedAv'; did you mean 'FedAvg'?",
        ),
    ],
)
def test_bad_yaml_is_one_sentence_that_names_the_file(refuses, tiny, file, old, new, words):
    path = tiny / file
    path.write_text(path.read_text().replace(old, new))
    with refuses() as error:
        make_plan(tiny, "paper")
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    assert "yaml" in str(error.value)


def test_a_table_or_figure_without_any_point_is_left_out_by_name(tmp_path):
    text = PAPER.replace("alpha: [1], method: [FedAvg, FedProx]", "alpha: [1, 2], method: [FedAvg]")
    unprinted(make_project(tmp_path, text))
    scale = "about: Half.\npapers: {tiny: {levels: {alpha: [2]}}}\n"
    (tmp_path / "workflow/scales/half.yaml").write_text(scale)
    plan = make_plan(tmp_path / "workflow", "half")
    assert {cell.coords["alpha"] for cell in plan.cells} == {2}
    assert [key for key, _ in plan.papers["tiny"].items()] == ["table1"]  # the others show α = 1
    found = plan.left_out["tiny"]
    assert [title for title, _ in found.items] == ["Table II", "Fig. 1"]
    assert found.levels == {"alpha": (1,)}


def test_a_title_may_say_how_many_rounds_the_runs_of_a_scale_have(tmp_path):
    text = PAPER.replace("title: Table I,", "title: 'After {rounds}', caption: 'in {rounds}',")
    workflow = make_project(tmp_path, text) / "workflow"
    (workflow / "scales/small.yaml").write_text("about: small\nlimit: {rounds: 1}\n")
    table, cut = (
        make_plan(workflow, x).papers["tiny"].tables["table1"] for x in ("paper", "small")
    )
    assert (table.title, table.caption) == ("After 2", "in 2")
    assert (cut.title, cut.caption) == ("After 1", "in 1")
    assert make_plan(workflow, "small").asked["tiny"].tables["table1"].title == "After 1"
    of_some = text.replace("caption:", "where: {method: FedProx}, caption:").replace(
        "seeds: [0, 1]",
        "seeds: [0, 1]\n    cases: [{where: {method: FedAvg}, settings: {rounds: 1}}]",
    )
    (folder := tmp_path / "of_some").mkdir()
    plan = make_plan(make_project(folder, of_some, PRINTED.splitlines()[0]) / "workflow", "paper")
    assert {run.rounds for run in plan.runs.values()} == {1, 2}
    assert plan.papers["tiny"].tables["table1"].title == "After 2"
