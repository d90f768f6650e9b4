"""The command line, as a user types it."""

import json
from pathlib import Path

import pandas as pd
import pytest

from fedbench.cli.app import sentences
from fedbench.jobs.collect import collect
from fedbench.plan.plan_file import write_plan
from fedbench.store import Results, read_facts, write_frame
from tests.data import network
from tests.jobs.made_runs import project
from tests.project import make_project

SPEC = "model: {mlp: {hidden: 4}}\nclients: 4\nrounds: 3\nparts: [{fedprox: {mu: 0.1}}]\n"


def test_run_writes_history_record_and_weights(cli, tmp_path):
    (tmp_path / "spec.yaml").write_text(SPEC)
    done = cli("run", tmp_path / "spec.yaml", "--out", tmp_path / "out")
    assert done.exit_code == 0
    assert "round 3/3" in done.output
    assert pd.read_parquet(tmp_path / "out/rounds.parquet")["round"].tolist() == [1, 2, 3]
    record = json.loads((tmp_path / "out/run.json").read_text())
    assert record["status"] == "finished"
    assert record["parameters"] == 64 * 4 + 4 + 4 * 10 + 10
    assert (tmp_path / "out/model.safetensors").exists()
    again = cli("run", tmp_path / "spec.yaml", "--out", tmp_path / "out")
    assert again.exit_code == 0
    assert "finished already" in again.output
    with (tmp_path / "out/rounds.parquet").open("ab") as file:
        file.write(b"more")
    changed = cli("run", tmp_path / "spec.yaml", "--out", tmp_path / "out")
    assert changed.exit_code == 2
    assert "rounds.parquet: is not the file that the run wrote" in changed.output


def test_a_finished_run_of_data_that_were_replaced_is_refused(cli, tmp_path):
    rows = "a,kind\n" + "1,x\n2,y\n" * 20
    (tmp_path / "my.csv").write_text(rows)
    spec, out = tmp_path / "spec.yaml", tmp_path / "out"
    spec.write_text(
        "dataset: {file: {path: my.csv}}\nmodel: {mlp: {hidden: 2}}\nclients: 2\nrounds: 1"
    )
    words = ("run", spec, "--out", out, "--data-dir", tmp_path)
    assert cli(*words).exit_code == 0
    assert "finished already" in cli(*words).output
    (tmp_path / "my.csv").write_text(rows + "3,x\n")
    done = cli(*words)
    assert done.exit_code == 2
    assert f"{out}: was trained on data that have been replaced since" in " ".join(
        done.output.split()
    )
    (tmp_path / "my.csv").unlink()  # nothing to compare with
    assert "finished already" in cli(*words).output


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rounds: 0", "rounds = 0 is not allowed"),
        ("round: 3", "did you mean 'rounds'?"),
        ("self: 3", "no field in RunSpec 'self'"),
        ("stop: {self: 3}", "no field in Stop 'self'"),
        ("parts: [fedproxx]", "did you mean 'fedprox'?"),
        ("lr: fast", "lr = 'fast' is not allowed"),
        ("- a list", "must be a mapping"),
        ("participation: 2", "participation = 2 is not allowed"),
    ],
)
def test_bad_specs_end_in_one_sentence_and_exit_code_2(cli, tmp_path, text, words):
    (tmp_path / "spec.yaml").write_text(text)
    done = cli("run", tmp_path / "spec.yaml", "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "spec.yaml" in done.output
    assert words in done.output.replace("\n", "")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("methods", "rmfl"),
        ("datasets", "cifar10"),
        ("models", "lenet5"),
        ("partitions", "dy"),
        ("samplers", "bernoulli"),
        ("probes", "spectrum"),
        ("papers", "rmfl"),
    ],
)
def test_list_names_everything(cli, kind, name):
    rows = json.loads(cli("list", kind, "--json").output)
    assert name in [row["name"] for row in rows]
    assert name in cli("list", kind).output


def test_list_gives_ranges_defaults_and_cost(cli):
    rows = {row["name"]: row for row in json.loads(cli("list", "methods", "--json").output)}
    mu = rows["fedprox"]["parameters"][0]
    assert mu == {"name": "mu", "default": 0.01, "allowed": "a number ≥ 0"}
    assert rows["mfl"]["cost"]["down_in_d"] == 1.0
    assert rows["fedadc"]["cost"]["ops_step"] == 2  # vector operations, no multiple of d
    assert rows["fedprox"]["hooks"] == ["grad", "decay"]


def test_plan_prints_runs_passes_and_hours(cli):
    one = ("plan", "--scale", "paper", "--papers", "rmfl", "--tables", "table1")
    output = cli(*one).output
    assert "rmfl/table1" in output
    assert "sample passes" in output
    plan = json.loads(cli(*one, "--json").output)
    searched = 10 * 9 + 2 * 3  # ten methods in nine settings; two more, which clip, on CIFAR-10
    at_a_rate = 2  # two of them at MFL's rate in one setting, without a search
    assert sum(len(point["runs"]) for point in plan["points"]) == (searched + at_a_rate) * 10
    assert len(plan["runs"]) == searched * (10 + 6) + at_a_rate * 10


def test_data_prints_or_writes_facts(cli, tmp_path):
    facts = json.loads(cli("data", "digits").output)
    cli("data", "digits", "--out", tmp_path / "deep/digits.json")
    assert read_facts(tmp_path / "deep/digits.json") == facts
    assert (facts["train"], facts["test"], facts["classes"]) == (1442, 355, 10)
    assert facts["samples"] == "images of (channels, height, width) = (1, 8, 8)"
    assert not {"features", "warnings"} & set(facts)


def test_data_lists_the_columns_of_a_table_and_what_is_no_feature(cli, tmp_path):
    rows = [f"{k},{k % 7 / 4},{'xy'[k % 2]},{k % 2}" for k in range(40)]
    (tmp_path / "my.csv").write_text("\n".join(["id,size,kind,code", *rows]))
    facts = json.loads(
        cli("data", "{file: {path: my.csv, label: kind}}", "--data-dir", tmp_path).output
    )
    assert facts["samples"] == "rows of 3 numbers"
    assert list(facts["features"]) == ["id", "size", "code"]
    assert facts["features"]["size"] == "numbers from 0 to 1.5, 7 different"
    assert facts["features"]["code"] == "whole numbers from 0 to 1, 2 different"
    assert (facts["origin"]["label"], facts["origin"]["labels"]) == ("kind", "x, y")
    index, leak = facts["warnings"]
    assert index.startswith("id of 3 columns: numbers of the rows")
    assert leak.startswith("code of 3 columns: each tells all classes apart")


def test_data_takes_parameters(cli, tmp_path):
    (tmp_path / "my.csv").write_text("a,kind\n" + "1,x\n2,y\n" * 5)
    where = ("--set", "path=my.csv", "--data-dir", tmp_path)
    facts = json.loads(cli("data", "file", *where, "--set", "test=0.4").output)
    assert (facts["train"], facts["test"], facts["origin"]["labels"]) == (6, 4, "x, y")
    for pair, words in (("tests=0.4", "did you mean 'test'?"), ("test", "is written key=value")):
        done = cli("data", "file", *where, "--set", pair)
        assert done.exit_code == 2
        assert words in done.output.replace("\n", " ")


def test_missing_data_names_the_file_and_how_to_get_it(cli, tmp_path, monkeypatch):
    network.cut_off(monkeypatch)
    done = cli("data", "mnist", "--data-dir", tmp_path)
    assert done.exit_code == 2
    assert "mnist.npz" in done.output.replace("\n", "")


def test_a_report_before_any_run_shows_every_cell_as_missing(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(make_project(tmp_path))
    assert cli("plan", "--scale", "paper", "--write").exit_code == 0
    done = cli("report", "--scale", "paper")
    assert done.exit_code == 0
    table = pd.read_csv(tmp_path / "reports/paper/tables/tiny/table1.csv")
    assert table["n_seeds"].tolist() == [0, 0]
    assert table["measured_mean"].isna().all()
    assert done.output.endswith("4 of 4 runs are missing\n")


def test_a_report_of_all_runs_says_nothing_of_missing_ones(cli, tmp_path, monkeypatch):
    plan = project(tmp_path)
    frame = Results(tmp_path / "results").frame("paper", "tiny")
    runs = {cell.run_id: cell.run for cell in plan.cells}
    write_frame(collect(list(runs.values())[1:], tmp_path / "results"), frame)
    monkeypatch.chdir(tmp_path)
    write_plan(plan, tmp_path / "results")
    assert cli("report", "--scale", "paper").output.endswith("1 of 4 runs are missing\n")
    write_frame(collect(list(runs.values()), tmp_path / "results"), frame)
    assert "missing" not in cli("report", "--scale", "paper").output


@pytest.fixture
def plan_file(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(make_project(tmp_path))
    (tmp_path / "plan.json").write_text(cli("plan", "--scale", "paper", "--json").output)
    return tmp_path / "plan.json"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("select", "abc"), "no search in this plan 'abc'; choose from nothing"),
        (("collect", "tinny", "--out", "x.parquet"), "no paper in this plan 'tinny'; did you mean"),
        (("train", "abc"), "no run in this plan 'abc'"),
        (("train", "../../.."), "no run in this plan '..'"),
    ],
)
def test_what_a_plan_does_not_have(cli, plan_file, words, sentence):
    done = cli(*words, "--plan", plan_file, "--results", "none")
    assert done.exit_code == 2
    assert sentence in done.output
    assert done.output.count("\n") == 1
    assert not (plan_file.parent / "none").exists()


@pytest.mark.parametrize("name", ["x[old]", "x[red]", ":smile:", "[/]", "x" * 300])
def test_a_folders_name_is_printed_as_it_is(cli, tmp_path, name):
    done = cli("run", tmp_path / name / "spec.yaml", "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert f"{tmp_path / name}/spec.yaml: cannot be read" in done.output
    (tmp_path / "spec.yaml").write_text("rounds: 1")
    (tmp_path / "file").write_text("in the way")
    done = cli("run", tmp_path / "spec.yaml", "--out", tmp_path / "file" / name)
    assert done.exit_code == 2
    assert "cannot write there" in done.output
    assert done.output.count("\n") == 1


def test_a_picture_with_a_name_that_no_file_can_have(cli, tmp_path):
    done = cli("partition", "dl", "--out", tmp_path / ("x" * 300 + ".png"))
    assert done.exit_code == 2
    assert "cannot be written: File name too long" in done.output


@pytest.mark.parametrize(
    "words",
    [
        ("train", "a", "--plan"),
        ("select", "a", "--plan"),
        ("collect", "a", "--out", "x.parquet", "--plan"),
        ("show", "a", "--results"),
        ("data", "file", "--set", "path=my.csv", "--data-dir"),
    ],
)
def test_a_path_that_the_system_refuses(cli, tmp_path, words):
    path = tmp_path / ("x" * 300)
    done = cli(*words, path)
    assert done.exit_code == 2
    assert done.output.startswith(f"error: {path}")
    assert done.output.endswith("cannot be used: File name too long\n")


def test_results_that_cannot_be_there_have_no_plan(cli, tmp_path):
    path = tmp_path / ("x" * 300)
    done = cli("missing", "--results", path)
    assert done.exit_code == 2
    assert done.output.startswith(f"error: {path}: there is no plan of scale 'demo'")


@pytest.mark.parametrize("ending", ["png", "parquet"])
def test_a_folder_where_the_file_would_be(cli, tmp_path, plan_file, ending):
    file = tmp_path / f"mine.{ending}"
    file.mkdir()
    words = {
        "png": ("partition", "dl"),
        "parquet": ("collect", "tiny", "--plan", plan_file, "--no-whole"),
    }
    done = cli(*words[ending], "--out", file)
    assert done.exit_code == 2
    assert done.output == f"error: {file}: cannot be written: Is a directory\n"
    assert list(tmp_path.glob(".*")) == []


def full(*_, **__):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("file", ["model.safetensors", "clients.parquet"])
def test_a_run_on_a_full_disk_ends_in_one_sentence(cli, tmp_path, monkeypatch, file):
    def write(path, content, plain=Path.write_bytes):
        full() if path.name.startswith(f".{file}.") else plain(path, content)

    (tmp_path / "spec.yaml").write_text("{model: {mlp: {hidden: 4}}, rounds: 1}")
    monkeypatch.setattr(Path, "write_bytes", write)
    done = cli("run", tmp_path / "spec.yaml", "--out", tmp_path / "out")
    assert done.exit_code == 2
    last = done.output.splitlines()[-1]
    full_disk = "cannot be written: No space left on device"
    assert last == f"error: {tmp_path}/out/{file}: {full_disk}"
    assert not (tmp_path / "out" / "run.json").exists()


def test_whatever_the_system_refuses_is_one_sentence(cli, tmp_path, monkeypatch):
    monkeypatch.setattr("fedbench.cli.run.load_run", full)
    done = cli("run", tmp_path / "spec.yaml", "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert done.output == "error: the system refuses: No space left on device\n"
    with pytest.raises(BrokenPipeError), sentences():  # what reads our output may end before us
        raise BrokenPipeError(32, "Broken pipe")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("partition: {dl: {alpha: -1}}", "partition 'dl': alpha = -1 is not allowed"),
        ("parts: [{fedprox: {mu: '0.1'}}]", "method 'fedprox': mu = '0.1' is not allowed"),
        ("clients: 2000", "partition 'iid': clients = 2000 is not allowed"),
        ("parts: [feddyn, fedspeed]", "parts: 'feddyn' cannot stand beside"),
        ("tune: {grid: {lr: [0.1]}}", "tune: one run makes no search"),
    ],
)
def test_a_run_s_file_is_named_with_what_is_wrong_in_it(cli, tmp_path, text, words):
    file, out = tmp_path / "e10.yaml", tmp_path / "out"
    file.write_text(f"rounds: 1\n{text}\n")
    done = cli("run", file, "--out", out)
    assert done.exit_code == 2, done.output
    assert f"error: {file}: {words}" in " ".join(done.output.split())
    assert done.output.count(file.name) == 1


def test_the_home_folder_is_found_after_an_equals_sign(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.yaml").write_text(SPEC.replace("rounds: 3", "rounds: 1"))
    assert cli("run", "spec.yaml", "--out=~/runs/one").exit_code == 0
    assert (tmp_path / "me/runs/one/run.json").exists()
    assert cli("init", "~/mine").exit_code == 0  # as Windows hands it on
    assert (tmp_path / "me/mine/README.md").exists()
    assert not (tmp_path / "~").exists()
