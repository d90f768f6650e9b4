"""The snippets of a page, and what can be checked of each without a cluster, a network or an hour.

Python is run. A YAML or CSV snippet whose title is a file's name is written to that file, and read
as fedbench reads such a file; one titled 'in papers/x.yaml' is added to it first. Commands are
parsed by the programs that they call, so that no flag or setting is misspelt; those in `RUN` are
run as well.
"""

import importlib.util
import os
import re
import shlex
import tomllib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import yaml
from typer.main import get_command
from typer.testing import CliRunner

from fedbench.__main__ import app
from fedbench.base.yamlfile import read_value, read_yaml, written
from fedbench.paper.scale import load_scale
from fedbench.plan.plan import make_plan
from fedbench.spec.compositions import compositions
from fedbench.spec.run import load_run
from tests.project import ROOT

RUN = {"run", "list", "init", "data", "partition", "--version"}  # of fedbench; `plan` of own papers
_FENCE = re.compile(
    r'^(?P<indent> *)```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n'
    r"(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Snippet:
    """A fenced block: its language, its title if it has one, its text."""

    language: str
    title: str
    text: str

    @property
    def is_file(self):
        """Whether the title is the name of a file that the snippet holds."""
        return bool(self.title) and not self.title.startswith(("in ", "fedbench/"))


def snippets(page):
    """All snippets of a page, in order."""
    return [
        Snippet(found["language"], found["title"] or "", found["text"])
        for found in _FENCE.finditer(page)
    ]


def follow(page):
    """Do what a reader of the page would, in the working folder; raises where it does not work."""
    blocks = snippets(page)
    for block in blocks:
        if block.is_file:
            write(block.title, block.text)
    names = {}
    for block in blocks:
        _try(block, names)


def _try(block, names):
    if block.title.startswith("fedbench/"):
        _require_lines(block)
    elif block.language == "yaml":
        _read_yaml(block)
    elif block.language == "python" and not block.is_file:
        exec(block.text, names)  # noqa: S102  # our own pages
    elif block.language == "sh":
        for words in commands(block.text):
            obey(words)


def write(name, text):
    """Write a file below the working folder."""
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text, encoding="utf-8")


def _require_lines(block):
    source = [line.strip() for line in (ROOT / block.title).read_text().splitlines()]
    missing = [line for line in block.text.splitlines() if line.strip() not in source]
    assert not missing, f"{block.title} has no such line: {missing}"


def _read_yaml(block):
    name = block.title.removeprefix("in ")
    assert name, f"a YAML snippet needs the name of a file as its title:\n{block.text}"
    if not block.is_file:
        whole = merged(read_yaml(Path(name)), read_value(block.text))
        write(name, written(whole))
    folder, stem = Path(name).parent.name, Path(name).stem
    if folder == "papers":
        assert make_plan(ROOT / "workflow", "paper", (stem,)).runs
    elif folder == "scales":
        load_scale(ROOT / "workflow", stem)
    elif name == "compositions.yaml":
        assert set(read_value(block.text)) <= set(compositions())
    else:
        load_run(Path(name))


def merged(whole, more):
    """Two mappings in one, those inside them too."""
    if not isinstance(whole, dict) or not isinstance(more, dict):
        return more
    return whole | {key: merged(whole.get(key), value) for key, value in more.items()}


def commands(text):
    """The commands of a shell snippet as lists of words, without comments."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words:
            end = words.index("&&") if "&&" in words else len(words)
            yield words[:end]
            words = words[end + 1 :]


def obey(words):
    """Check one command; run it if it is among those that are cheap."""
    program, *args = words
    assert program in CHECKS, f"no check is known for the command {words}"
    CHECKS[program](args)


def _fedbench(args):
    own_plan = args[0] == "plan" and "--papers" in args
    elsewhere = args[0] == "run" and not Path(args[1]).exists()  # a file of another page
    if own_plan or (args[0] in RUN and not elsewhere):
        done = CliRunner().invoke(app, args, catch_exceptions=False)
        assert done.exit_code == 0, done.output
    else:
        get_command(app).commands[args[0]].make_context(args[0], list(args[1:]))


def _snakemake(args):
    from snakemake.cli import get_argument_parser

    wanted = get_argument_parser().parse_args(args)
    rules = re.findall(r"^rule (\w+):", (ROOT / "Snakefile").read_text(), re.MULTILINE)
    assert set(wanted.targets or ()) <= set(rules), wanted.targets
    schema = yaml.safe_load((ROOT / "workflow/schemas/config.schema.json").read_text())
    given = {str(setting).partition("=")[0] for setting in wanted.config or ()}
    assert given <= schema["properties"].keys(), given


def _pip(args):
    assert args[:4] == ["install", "-c", "constraints.txt", "-e"], args
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {name for name in args[4].removeprefix(".").strip("[]").split(",") if name}
    assert wanted <= project["optional-dependencies"].keys(), args


def _python(args):
    if args[0] == "-m":
        assert importlib.util.find_spec(args[1]), args
        return
    text = (ROOT / args[0]).read_text()
    assert all(f'"{word}"' in text for word in args[1:] if word.startswith("--")), args


def _mlflow(args):
    """Look the words up in MLflow's source: importing its commands takes seconds."""
    files = [file for file in metadata.files("mlflow") or () if "cli" in str(file)]
    text = "".join(file.read_text() for file in files if file.suffix == ".py")
    assert f"def {args[0]}(" in text, args
    assert all(f'"{word}"' in text for word in args[1:] if word.startswith("--")), args


def _pytest(args):
    assert all((ROOT / word).exists() for word in args if "/" in word), args


CHECKS = {
    "fedbench": _fedbench,
    "snakemake": _snakemake,
    "pip": _pip,
    "python": _python,
    "mlflow": _mlflow,
    "pytest": _pytest,
    "cd": lambda args: os.chdir(*args),
    "pre-commit": lambda args: None,
}
