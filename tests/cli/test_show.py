"""`fedbench show` of a paper: which runs are one curve."""

from pathlib import Path

from fedbench import run
from fedbench.cli.show import _wanted
from fedbench.plan.plan import make_plan

PAPER = """
title: T
authors: A
settings: {dataset: digits, model: {mlp: {hidden: 4}}, clients: 2, rounds: 1}
grids:
  main: {axes: {method: [FedAvg, FedProx]}, seeds: [0, 1]}
  faster: {axes: {method: [FedAvg]}, seeds: [0, 1], settings: {lr: 0.5}}
tables:
  all: {title: All, caption: All., grid: main, rows: [method], columns: [metric]}
"""


def test_runs_of_two_grids_with_other_settings_are_two_curves(cli, tmp_path):
    for folder, text in (("papers", PAPER), ("scales", "about: As printed.\n")):
        file = tmp_path / "workflow" / folder / f"{folder[:-1]}.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(text)
    last = {}
    for cell in make_plan(tmp_path / "workflow", "scale").cells:
        done = run(cell.run, out=Path(tmp_path, "results/runs", cell.run_id))
        last.setdefault((cell.grid, cell.coords["method"]), []).append(done.history)
    mean = {at: sum(h["accuracy"].iloc[-1] for h in of) / 2 for at, of in last.items()}
    where = ("--scale", "scale", "--workflow", tmp_path / "workflow")
    said = cli("show", "paper", *where, "--results", tmp_path / "results").output
    for name, at in {
        "FedAvg (main)": ("main", "FedAvg"),
        "FedAvg (faster)": ("faster", "FedAvg"),
        "FedProx": ("main", "FedProx"),
    }.items():
        line = next(line for line in said.splitlines() if f" {name} " in line)
        assert f"{mean[at]:.4g} ±" in line
    only = cli("show", "paper", "FedProx", *where, "--results", tmp_path / "results").output
    assert " FedAvg" not in only
    none = cli(
        "show", "paper", "s0", *where, "--column", "round", "--results", tmp_path / "results"
    )
    assert none.exit_code == 2
    assert none.output.startswith("error: no column 'round'")


def test_a_word_of_two_axes_is_a_method_and_cells_without_its_axis_do_not_fit(refuses):
    cells = [
        {"method": ["FedAvg"], "rate": ["0.1"]},
        {"method": ["FedGKD"], "rate": ["0.1"], "mu": ["0.1"]},
        {"teacher": ["FedGKD"], "mu": ["1"]},
    ]
    axes = _wanted("p", ["FedGKD", "0.1", "1"], cells)
    assert axes == {
        frozenset({"method"}): {"fedgkd"},
        frozenset({"rate", "mu"}): {"0.1"},
        frozenset({"mu"}): {"1"},
    }
    with refuses("p has no run at this scale"):
        _wanted("p", ["FedGKD"], [])
