"""Plug-ins and papers from a folder of the user's own, from installed packages, from the wheel."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from fedbench import Machine, RunSpec, run
from fedbench.__main__ import app
from fedbench.base import registry
from fedbench.base.errors import FedbenchError
from fedbench.base.plugins import search_also
from fedbench.cli.catalogue import catalogue
from fedbench.jobs.train import train
from fedbench.paper.metrics import require_measured
from fedbench.plan.data_checks import data_key
from fedbench.plan.plan import make_plan
from fedbench.plan.plan_file import PlanFile, fingerprint, planned_file, write_plan
from fedbench.plan.workflow_paths import plugin_files
from fedbench.spec.compositions import compositions, own_methods, spelled_out
from fedbench.store import RunFolder, state
from tests.project import ROOT, snakemake
from tests.wheel import INSTALLED, install, python

METHOD = """
from dataclasses import dataclass
from fedbench import Part

@dataclass(frozen=True)
class Brand(Part):
    '''Half the global step.'''

    eta: float = 0.5

    def step(self, d, r):
        return self.eta * d
"""
PROBE = """
from dataclasses import dataclass
from typing import ClassVar
from fedbench import Probe

@dataclass(frozen=True)
class Size(Probe):
    '''The norm of the global model.'''

    COLUMNS: ClassVar = {"model_norm": ("Norm of the model", "", "")}

    def row(self, s):
        return {"model_norm": float(s.new.w.norm())}
"""
DATA = """
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from fedbench import Dataset, Source

@dataclass(frozen=True)
class Line(Source):
    '''Points left and right of 0.'''

    SAMPLES: ClassVar[tuple[int, int]] = (40, 40)
    CLASSES: ClassVar[int] = 2

    def load(self, folder):
        x = np.linspace(-1, 1, 40).reshape(-1, 1)
        y = (x[:, 0] > 0).astype(np.int64)
        return Dataset("line", x, y, x, y, classes=2)
"""
PARTITION = """
from dataclasses import dataclass
import random
import numpy as np
from fedbench.data.partition import Partition

@dataclass(frozen=True)
class Lots(Partition):
    '''Every sample is drawn a client.'''

    def split(self, labels, clients, rng):
        whose = [i % clients for i in range(len(labels))]
        random.shuffle(whose)
        return [np.flatnonzero(np.array(whose) == i) for i in range(clients)]
"""
MODEL = """
from dataclasses import dataclass
from torch import nn
from fedbench.models.architecture import Architecture, BodyHead

@dataclass(frozen=True)
class Narrow(Architecture):
    '''One hidden unit.'''

    def build(self, inputs):
        body = nn.Sequential(nn.Flatten(), nn.Linear(64, 1))
        return BodyHead(body, nn.Linear(1, inputs.outputs))
"""
PAPER = """
title: Lines
authors: Nobody
settings: {dataset: line, model: {mlp: {hidden: 4}}, clients: 4, rounds: 2, watch: [size]}
levels: {method: {Brand: {parts: [brand]}}}
grids: {main: {axes: {method: [FedAvg, Brand]}, seeds: [0]}}
tables: {table1: {title: Table I, grid: main, rows: [], metrics: [accuracy, model_norm]}}
"""


def plug(folder, **files):
    """Write plug-in files: `plug(folder, methods=METHOD)` makes `methods/mine.py`."""
    for name, text in files.items():
        file = folder / name / ("mine.yaml" if name == "papers" else "mine.py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def identity(folder, monkeypatch, **settings):
    monkeypatch.chdir(folder)
    return RunSpec(**settings).id


def test_a_method_a_probe_and_data_of_the_user_s_own_are_trained(tmp_path, monkeypatch):
    monkeypatch.chdir(plug(tmp_path, methods=METHOD, probes=PROBE, data=DATA))
    settings = {"dataset": "line", "model": {"mlp": {"hidden": 4}}, "clients": 4, "rounds": 1}
    result = run(RunSpec(**settings, parts=["brand"], watch=["size"]), out=tmp_path / "run")
    plain = run(RunSpec(**settings, parts=[]))
    # half of FedAvg's step, and the norm that the probe saw is that of the model
    assert result.history["step_norm"][0] == pytest.approx(plain.history["step_norm"][0] / 2)
    assert result.history["model_norm"][0] == pytest.approx(float(result.weights.norm()))
    record = json.loads((tmp_path / "run/run.json").read_text())
    checksum = hashlib.sha256(METHOD.encode()).hexdigest()
    assert record["plugins"]["method brand"] == {"methods/mine.py": checksum}
    assert record["plugins"].keys() == {"method brand", "probe size", "dataset line"}
    assert record["settings"]["plugins"]["method brand"] == [checksum[:12]]


@pytest.mark.parametrize(
    ("kind", "text", "settings", "said"),
    [
        ("data", DATA, {"dataset": "line"}, "dataset 'line': load returned None, which is no"),
        (
            "partitions",
            PARTITION,
            {"partition": "lots"},
            "'lots': split returned None, which is no",
        ),
        ("models", MODEL, {"model": "narrow"}, "model 'narrow': build returned None, which is no"),
    ],
)
def test_a_forgotten_return(tmp_path, monkeypatch, refuses, kind, text, settings, said):
    forgotten = re.sub(r"^        return (.*)$", r"        made = \1", text, flags=re.MULTILINE)
    monkeypatch.chdir(plug(tmp_path, **{kind: forgotten}))
    with refuses(said):
        run(RunSpec(**settings, clients=4, rounds=1))


def test_an_edited_file_is_another_run_and_another_place_is_not(tmp_path, monkeypatch):
    first = plug(tmp_path / "first", methods=METHOD)
    moved = plug(tmp_path / "moved", methods=METHOD)
    edited = plug(tmp_path / "edited", methods=METHOD.replace("self.eta * d", "d * self.eta"))
    ids = [identity(f, monkeypatch, parts=["brand"]) for f in (first, moved, edited)]
    assert ids[0] == ids[1] != ids[2]


def test_what_a_plug_in_imports_beside_it_counts_too(tmp_path, monkeypatch):
    ids = []
    for name, helper in (("one", "HALF = 0.5"), ("two", "HALF = 1 / 2")):
        folder = plug(tmp_path / name, methods=f"from .helper import HALF\n{METHOD}")
        (folder / "methods/helper.py").write_text(helper)
        ids.append(identity(folder, monkeypatch, parts=["brand"]))
    assert ids[0] != ids[1]
    assert registry.build("method", "brand", {"eta": 0.25}).eta == 0.25
    assert list(registry.find("method", "brand").sha256) == ["methods/mine.py", "methods/helper.py"]


def test_a_search_whose_trials_use_a_plug_in_depends_on_its_file(tmp_path, monkeypatch):
    tune = {"grid": {"lr": [0.1, 1.0]}, "trials": {"parts": ["brand"]}}
    one = plug(tmp_path / "one", methods=METHOD)
    two = plug(tmp_path / "two", methods=f"{METHOD}\n# edited\n")
    assert identity(one, monkeypatch, tune=tune) != identity(two, monkeypatch, tune=tune)


def test_methods_of_ones_own_are_told_from_those_that_come_with_fedbench(tmp_path, monkeypatch):
    assert own_methods() == set()
    plug(tmp_path, methods=METHOD)
    (tmp_path / "compositions.yaml").write_text("FedProx (strong): {parts: [{fedprox: {mu: 1}}]}")
    monkeypatch.chdir(tmp_path)
    assert own_methods() == {"FedProx (strong)", "brand"}


def test_runs_of_built_ins_keep_their_identity_beside_plug_ins(tmp_path, monkeypatch):
    elsewhere = identity(tmp_path, monkeypatch, parts=["fedprox"])
    assert identity(plug(tmp_path, methods=METHOD), monkeypatch, parts=["fedprox"]) == elsewhere


def test_two_plug_ins_of_one_name_are_refused_with_both_files(tmp_path, monkeypatch):
    monkeypatch.chdir(plug(tmp_path / "mine", methods=METHOD.replace("Brand", "FedProx")))
    with pytest.raises(FedbenchError, match=r"'fedprox': in .*fedprox\.py and in .*mine\.py"):
        RunSpec(parts=["fedprox"])
    one, two = (plug(tmp_path / name, methods=METHOD) for name in ("one", "two"))
    monkeypatch.chdir(one)
    monkeypatch.setenv("FEDBENCH_PLUGINS", str(two))
    with pytest.raises(FedbenchError, match=r"'brand': in .*two.*mine\.py and in .*one.*mine\.py"):
        RunSpec(parts=["brand"])


def test_papers_and_named_methods_of_one_name_are_refused_with_both_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers/rmfl.yaml").write_text(PAPER)
    with pytest.raises(FedbenchError, match=r"'rmfl\.yaml': .*workflow.* and .*papers/rmfl\.yaml"):
        make_plan(ROOT / "workflow", "paper", ("rmfl",))
    (tmp_path / "compositions.yaml").write_text("FedADC: {parts: [fedadc], citation: mine}")
    with pytest.raises(FedbenchError, match=r"'FedADC': in .*compositions\.yaml and in "):
        compositions()
    (tmp_path / "compositions.yaml").write_text("Mine: {parts: [fedprox], citation: mine}")
    assert list(compositions())[-1] == "Mine"


def test_a_named_method_is_not_called_as_a_part_that_it_is_not(tmp_path, monkeypatch, refuses):
    monkeypatch.chdir(plug(tmp_path, methods=METHOD))
    file = tmp_path / "compositions.yaml"
    for text in ("{parts: [fedprox]}", "{parts: [{brand: {eta: 0.25}}]}", "{parts: [brand, asd]}"):
        file.write_text(f"brand: {text}")
        with refuses(r"compositions\.yaml: brand: .*mine\.py has a part of the same name"):
            compositions()
    file.write_text("brand: {parts: [brand], search: {brand.eta: [0.3, 0.5, 1]}}")
    assert list(compositions())[-1] == "brand"


def test_a_method_of_ones_own_meets_all_others_in_the_arena(tmp_path, monkeypatch):
    monkeypatch.chdir(plug(tmp_path, methods=METHOD))
    cells = make_plan(ROOT / "workflow", "demo", ("arena",)).cells
    cells = [cell for cell in cells if cell.grid == "main"]
    methods = list(dict.fromkeys(cell.coords["method"] for cell in cells))
    assert methods == [*compositions(), "brand"]
    assert [str(part) for part in cells[-1].run.parts] == ["brand"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import fedbench\nclass:", r"mine\.py, line 2: not Python"),
        (f"import nothing_of_that_name\n{METHOD}", r"cannot be imported \(ModuleNotFoundError"),
        (METHOD.replace("(Part)", "(Exception)"), "Brand must derive from Part"),
        (f"import torch\ntorch.set_default_dtype(torch.float64)\n{METHOD}", "precision: float64"),
    ],
)
def test_a_broken_plug_in_is_named(tmp_path, monkeypatch, text, words):
    monkeypatch.chdir(plug(tmp_path, methods=text))
    for _ in range(2):
        with pytest.raises(FedbenchError, match=words):
            registry.build("method", "brand", {})
        assert torch.get_default_dtype() == torch.float32


def test_data_and_partitions_of_ones_own_that_draw_are_the_same_each_time(tmp_path, monkeypatch):
    drawn = DATA.replace("x = np.linspace(-1, 1, 40).reshape(-1, 1)", "x = np.random.randn(40, 1)")
    monkeypatch.chdir(plug(tmp_path, data=drawn, partitions=PARTITION))
    spec = RunSpec(
        dataset="line", model={"mlp": {"hidden": 4}}, clients=4, rounds=1, partition="lots"
    )
    one, other = run(spec), run(spec)
    assert one.record["data"]["checksum"] == other.record["data"]["checksum"]
    assert one.tables["clients"].equals(other.tables["clients"])
    assert torch.equal(one.weights, other.weights)


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("methods", PROBE, r"mine\.py: Size must derive from Part; .* Probe, put it into probes/"),
        (
            "probes",
            METHOD,
            r"mine\.py: Brand must derive from Probe; .* Part, put it into methods/",
        ),
    ],
)
def test_a_class_of_another_kind_is_told_its_folder(
    tmp_path, monkeypatch, refuses, kind, text, words
):
    monkeypatch.chdir(plug(tmp_path, **{kind: text}))
    with refuses(words):
        catalogue(kind.removesuffix("s"))


def _spelled_out(name):
    return spelled_out({"parts": [name]})


@pytest.mark.parametrize("column", ["momentum", "status", "train_loss", "accuracy"])
def test_a_probe_writes_no_column_that_every_run_has(tmp_path, monkeypatch, refuses, column):
    probe = PROBE.replace("model_norm", column)
    paper = PAPER.replace("[accuracy, model_norm]", f"[{column}]")
    monkeypatch.chdir(plug(tmp_path, methods=METHOD, probes=probe, data=DATA, papers=paper))
    with refuses(rf"probe 'size': COLUMNS: '{column}' is not allowed: it is a setting of runs or"):
        make_plan(ROOT / "workflow", "paper", ("mine",))


@pytest.mark.parametrize(
    ("name", "columns", "words"),
    [
        (
            "size",
            'COLUMNS = {"gap@1": ("", "", "")}',
            "COLUMNS: 'gap@1' is not allowed: in a",
        ),
        ("size", 'COLUMNS = {"a/b": ("", "", "")}', "COLUMNS: 'a/b' is not allowed: in a metric"),
        ("size", 'TABLE = {"hue": ("", "", "")}', "TABLE: 'hue' is not allowed: it is a setting"),
        ("size", 'TABLE = {"seed": ("", "", "")}', "TABLE: 'seed' is not allowed"),
        ("size", 'TABLE = {"metric": ("", "", "")}', "TABLE: 'metric' is not allowed"),
        ("clients", 'TABLE = {"a": ("", "", "")}', "TABLE: a run has a table of that name already"),
        ("rounds", 'TABLE = {"a": ("", "", "")}', "TABLE: a run has a table of that name already"),
    ],
)
def test_a_probe_writes_no_column_or_table_of_a_reserved_name(
    tmp_path, monkeypatch, refuses, name, columns, words
):
    columns = columns.replace(" =", ": ClassVar =")
    probe = PROBE[: PROBE.index("    COLUMNS")].replace("Size", name.title()) + f"    {columns}\n"
    monkeypatch.chdir(plug(tmp_path, probes=probe))
    with refuses(rf"probe '{name}': {words}"):
        require_measured(["accuracy"], [RunSpec(watch=[name])])


@pytest.mark.parametrize("name", ["index", "run"])
def test_a_paper_is_not_named_as_another_page_of_the_report(tmp_path, monkeypatch, refuses, name):
    folder = plug(tmp_path, methods=METHOD, probes=PROBE, data=DATA, papers=PAPER)
    (folder / "papers/mine.yaml").rename(folder / f"papers/{name}.yaml")
    monkeypatch.chdir(folder)
    with refuses(rf"{name}\.yaml: the file's name = '{name}' is not allowed: index\.html and run"):
        make_plan(ROOT / "workflow", "paper", (name,))


def test_curves_of_one_moment_are_refused(tmp_path, monkeypatch, refuses):
    figure = "figures: {f: {title: F, grid: main, metric: accuracy@best}}"
    paper = f"{PAPER}{figure}\n"
    monkeypatch.chdir(plug(tmp_path, methods=METHOD, probes=PROBE, data=DATA, papers=paper))
    with refuses("metric: 'accuracy@best' names a moment, but curves show every round; write 'acc"):
        make_plan(ROOT / "workflow", "paper", ("mine",))


def test_a_class_that_only_lacks_its_decorator_is_told_so(tmp_path, monkeypatch, refuses):
    monkeypatch.chdir(plug(tmp_path, methods=METHOD.replace("@dataclass(frozen=True)\n", "")))
    for name in ("brand", "Brand"):
        with refuses(rf"no method '{name}': class Brand in .*mine\.py must have a base class of"):
            _spelled_out(name)
    with refuses("no method 'brnd'; choose from"):
        _spelled_out("brnd")


def test_an_unknown_name_says_where_it_was_looked_for(tmp_path, monkeypatch, refuses):
    monkeypatch.chdir(tmp_path)
    with refuses(rf"methods/ of {tmp_path.resolve()}, which does not exist\)$") as caught:
        _spelled_out("pull")
    listed = str(caught.value).partition("choose from ")[2].partition(" (looked")[0].split(", ")
    assert listed[-1] == "…"
    assert {*listed[:-1]} <= {*registry.entries("method"), *compositions()}  # none is cut
    with refuses(f"no paper 'mine'; .* .looked in papers/ of {tmp_path.resolve()}, which does not"):
        make_plan(ROOT / "workflow", "paper", ("mine",))
    monkeypatch.chdir(plug(tmp_path, methods=METHOD))
    with refuses(rf"looked in methods/ of {tmp_path.resolve()}\)$"):
        _spelled_out("pull")


def test_a_part_that_is_asked_for_as_a_named_method_is_not_called_incomplete(
    tmp_path, monkeypatch, refuses
):
    monkeypatch.chdir(plug(tmp_path, methods=METHOD))
    with refuses("no method 'Brand'; (did you mean|choose from)"):
        raise registry.no_entry("method", "Brand", [])


def test_a_file_that_changes_after_it_was_read_is_not_imported(tmp_path, monkeypatch):
    monkeypatch.chdir(plug(tmp_path, methods=METHOD))
    assert RunSpec(parts=["brand"]).plugins().keys() == {"method brand"}
    plug(tmp_path, methods=f"{METHOD}\n")
    with pytest.raises(FedbenchError, match=r"mine\.py: was changed after it was read"):
        registry.build("method", "brand", {})


def test_edited_data_of_the_user_s_own_are_another_data_set(tmp_path, monkeypatch):
    line, keys, codes = RunSpec().dataset.model_copy(update={"name": "line"}), [], []
    for place, text in (("old", DATA), ("new", DATA.replace("-1, 1", "-2, 2"))):
        monkeypatch.chdir(plug(tmp_path / place, data=text))
        keys.append(data_key(line))
        codes.append(registry.find("dataset", "line").code)
    assert keys[0] != keys[1]
    assert [data_key(line, code) for code in codes] == keys  # of a record, what it was trained on
    assert data_key(RunSpec().dataset) == "digits"


def test_files_that_import_nothing_of_fedbench_and_tests_are_left_alone(tmp_path, monkeypatch):
    plug(tmp_path, models="@dataclass\nclass Net(Base): ...\nprint 'Python 2'")
    (tmp_path / "methods").mkdir()
    (tmp_path / "methods/test_mine.py").write_text(METHOD)
    monkeypatch.chdir(tmp_path)
    assert "net" not in registry.entries("model")
    assert "brand" not in registry.entries("method")


def test_files_that_an_editor_leaves_are_left_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(plug(tmp_path, methods=METHOD, probes=PROBE, data=DATA, papers=PAPER))
    for name in ("methods/.#mine.py", "papers/.#mine.yaml"):  # as Emacs marks an unsaved buffer
        (tmp_path / name).symlink_to("me@here.4711:1")
    assert "brand" in registry.entries("method")
    assert [*make_plan(ROOT / "workflow", "paper", ("mine",)).papers] == ["mine"]


def test_a_class_whose_name_no_run_s_id_can_have_is_refused(tmp_path, monkeypatch, refuses):
    monkeypatch.chdir(plug(tmp_path, methods=METHOD.replace("Brand", "Schärfe")))
    with refuses(r"mine\.py: class Schärfe: .* letters A-Z a-z, digits and underscores"):
        RunSpec(parts=["schärfe"])


def test_a_folder_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDBENCH_PLUGINS", str(tmp_path / "none"))
    with pytest.raises(FedbenchError, match=r"FEDBENCH_PLUGINS: there is no folder '.*none'"):
        RunSpec()


def test_the_folder_of_a_run_s_file_is_searched(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDBENCH_PLUGINS", "")  # put back when the test ends
    plug(tmp_path, methods=METHOD)
    (tmp_path / "run.yaml").write_text("{parts: [brand], rounds: 1, clients: 2}")
    done = CliRunner().invoke(app, ["run", f"{tmp_path}/run.yaml", "--out", f"{tmp_path}/run"])
    assert done.exit_code == 0, done.output
    assert "brand" in json.loads((tmp_path / "run/run.json").read_text())["id"]


def test_a_folder_that_the_variable_cannot_name_is_refused(tmp_path, monkeypatch, refuses):
    monkeypatch.setenv("FEDBENCH_PLUGINS", "")
    folder = plug(tmp_path / "at 10:30", methods=METHOD)
    with refuses("at 10:30: a folder of plug-ins cannot have ':' in its path"):
        search_also(folder)
    search_also(plug(tmp_path / "at 10:31", other=METHOD))  # nothing to plug in
    assert os.environ["FEDBENCH_PLUGINS"] == ""


def test_a_plan_of_before_an_edit_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(plug(tmp_path, methods=METHOD, probes=PROBE, data=DATA, papers=PAPER))
    plan = make_plan(ROOT / "workflow", "paper", ("mine",))
    assert {file.name for file in plugin_files(plan)} == {"mine.py"}
    write_plan(plan, tmp_path)
    file = planned_file(tmp_path, "paper")
    assert len(PlanFile(file).plan().runs) == 2
    edited = plug(tmp_path / "edited", methods=f"{METHOD}\n", probes=PROBE, data=DATA, papers=PAPER)
    monkeypatch.chdir(edited)
    refused = (
        r"was planned with other plug-ins .*mine\.py; start the workflow again, which makes the"
    )
    with pytest.raises(FedbenchError, match=refused):
        PlanFile(file).plan()
    # as the message says: the workflow takes it for another plan, and makes it anew
    assert fingerprint(make_plan(ROOT / "workflow", "paper", ("mine",))) != fingerprint(plan)


def test_a_failed_run_names_the_line_of_the_plug_in_that_failed(tmp_path, monkeypatch):
    monkeypatch.chdir(plug(tmp_path, methods=METHOD.replace("* d", "* dd")))
    spec = RunSpec(parts=["brand"], clients=2, rounds=1)
    train({spec.id: spec}, [spec.id], Path("results"), Machine("cpu", 1), None)
    error = f"results/runs/{spec.id}/error.txt"
    why = f"NameError: name 'dd' is not defined (methods/mine.py, line 12; traceback: {error})"
    assert state(RunFolder(Path(error).parent)).why == why
    said = CliRunner().invoke(app, ["show", spec.id]).output
    assert " ".join(said.split()) == f"{spec.id} is failed: {why}"


def test_an_installed_package_is_found_by_its_entry_point(tmp_path):
    site = tmp_path / "site"
    plug(site / "lab/bench", methods=METHOD)
    for folder in ("lab", "lab/bench", "lab/bench/methods"):
        (site / folder / "__init__.py").touch()
    information = site / "lab-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: lab\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[fedbench]\nlab = lab.bench\n")
    code = (
        "import sys; from fedbench.base import registry; entry = registry.find('method', 'brand');"
        "assert 'lab' not in sys.modules and 'torch' not in sys.modules; print(entry.load())"
    )
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{site}"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.stdout == "<class 'lab.bench.methods.mine.Brand'>\n", done.stderr


def test_a_new_folder_is_written_once(tmp_path):
    first = CliRunner().invoke(app, ["init", str(tmp_path / "new")])
    assert first.exit_code == 0, first.output
    again = CliRunner().invoke(app, ["init", str(tmp_path / "new")])
    assert again.exit_code == 2
    assert "README.md: is there already" in " ".join(again.output.split())


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site-packages of a fresh environment with the wheel of this checkout."""
    return install(tmp_path_factory.mktemp("wheel"))


def test_the_wheel_has_every_file_of_the_package_and_of_the_workflow(site):
    def below(root):
        files = (f for f in root.rglob("*") if f.is_file() and "__pycache__" not in f.parts)
        return {f.relative_to(root).as_posix() for f in files}

    installed = below(site / "fedbench")
    top = {f"{name}/{file}" for name in ("workflow", "profiles") for file in below(ROOT / name)}
    top |= set(INSTALLED)
    assert installed == below(ROOT / "fedbench") | {f"project/{name}" for name in top}


def test_an_editable_install_is_found_in_the_folder_above_the_clone(tmp_path, monkeypatch):
    """Where Python would take the clone, a folder `fedbench`, for the package."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    site = install(tmp_path, "build_editable")
    code = (
        "import fedbench; from fedbench.base.plugins import project; print(fedbench.run, project())"
    )
    command = [python(site), "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.endswith(f"{tmp_path / 'fedbench'}\n")


@pytest.mark.slow
def test_a_new_folder_is_planned_trained_and_reported_from_the_wheel(site, tmp_path, monkeypatch):
    """With a process for each rule, as users have it; other tests fork them.

    The environment is not activated, and the user's own files are named as libraries are.
    """
    monkeypatch.delenv("PYTHONPATH", raising=False)  # which may name the sources
    monkeypatch.chdir(tmp_path)
    for name in ("random", "queue", "torch"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('executed')\n")

    def fedbench(*words):
        command = [python(site), "-P", "-m", "fedbench", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    fedbench("init", ".")
    snakefile = fedbench("workflow").strip()
    assert Path(snakefile) == site / "fedbench/project/Snakefile"
    snakemake(
        tmp_path, "-s", snakefile, "reproduce_all",
        "--config", "papers=mine", "scale=paper", python=python(site),
    )  # fmt: skip
    assert "Shrink" in (tmp_path / "reports/paper/mine.html").read_text()
    assert len(list((tmp_path / "results/runs").glob("digits-mlp-dr-shrink-*/run.json"))) == 4
    assert (tmp_path / "results/mlflow.db").exists()


def test_a_probe_that_nobody_watches_is_checked_before_any_training(tmp_path, monkeypatch, refuses):
    probe = PROBE.replace("model_norm", "accuracy").replace("Size", "Gap")
    monkeypatch.chdir(plug(tmp_path, probes=probe))
    with refuses("probe 'gap': COLUMNS: 'accuracy' is not allowed"):
        make_plan(ROOT / "workflow", "demo", ("digits",))


SHIFT = """
from dataclasses import dataclass
from fedbench.data.shift import Shift

@dataclass(frozen=True)
class Invert(Shift):
    def feature(self, x, place):
        return -x
"""


def test_a_shift_with_a_misspelt_hook_is_refused(tmp_path, monkeypatch, refuses):
    monkeypatch.chdir(plug(tmp_path, shifts=SHIFT))
    with refuses(r"mine.py: Invert has no hook 'feature'; did you mean 'features'"):
        run(RunSpec(dataset="digits", clients=4, rounds=1, shift=["invert"]))
