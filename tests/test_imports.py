"""Imports point down, planning needs no torch, and each method has its own file."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import fedbench
from fedbench.base import registry

ROOT = Path(fedbench.__file__).parent
FILES = {
    ".".join(["fedbench", *file.relative_to(ROOT).with_suffix("").parts]): file
    for file in ROOT.rglob("*.py")
    if file.name not in ("__init__.py", "__main__.py")
}
# What a method may build on, beside torch and the standard library.
BELOW_METHODS = {f"fedbench.{name}" for name in ("part", "checked", "flat", "errors", "ops")}
BELOW_METHODS |= {
    "fedbench.core.optimisers",
    "fedbench.core.generator",
}  # what is trained at the server
# What stands above the engine and must not be needed by it.
ABOVE_ENGINE = {
    f"fedbench.{name}"
    for name in (
        *("plan", "paper", "scale", "schedule", "search", "layout", "budget", "collect", "track"),
        *("worker", "cli", "listing", "live", "report"),
    )
}


@cache
def imported(module):
    """fedbench modules that a module imports when it is loaded."""
    found = set()
    for node in ast.parse(FILES[module].read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fedbench"):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in FILES else node.module for name in inner}
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names if a.name.startswith("fedbench")}
    return found


def beneath(module):
    """Everything that loading a module loads."""
    todo, seen = [module], set()
    while todo:
        new = imported(todo.pop()) & set(FILES) - seen
        seen |= new
        todo += new
    return seen


def test_no_import_goes_in_a_circle():
    graph = {module: imported(module) & set(FILES) for module in FILES}
    assert len(list(TopologicalSorter(graph).static_order())) == len(FILES)


def test_the_engine_needs_nothing_above_it():
    for name in beneath("fedbench.engine.training"):
        assert not any(name == up or name.startswith(up + ".") for up in ABOVE_ENGINE), name


@pytest.mark.parametrize("name", sorted(registry.entries("method")))
def test_methods_build_on_parts_alone(name):
    module = registry.find("method", name).module
    assert imported(module) <= BELOW_METHODS


def test_nothing_below_a_run_needs_it():
    lower = [m for m in FILES if m.split(".")[1] in ("methods", "models", "sampling", "data")]
    assert len(lower) > 10
    for module in lower:
        assert "fedbench.engine.training" not in beneath(module), module
        assert "fedbench.spec" not in beneath(module), module


@pytest.mark.parametrize("kind", ["method", "model", "partition", "dataset", "sampler"])
def test_entries_are_named_after_their_files(kind):
    entries = registry.entries(kind)
    assert entries
    folder = ROOT.joinpath(*registry.PACKAGES[kind].split("."))
    if kind == "method":
        files = {file.stem for file in folder.glob("*.py")} - {"__init__"}
        assert {name: entry.module.rpartition(".")[2] for name, entry in entries.items()} == {
            file: file for file in files
        }
    for name, entry in entries.items():
        assert entry.load().__name__.lower() == name
        assert entry.doc


@pytest.mark.parametrize("module", ["", ".spec", ".registry", ".plan"])
def test_planning_does_not_import_torch(module):
    code = f"import sys, fedbench{module}; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_looking_up_names_does_not_import_torch():
    code = (
        "import sys; from fedbench import RunSpec; from fedbench.base.registry import entries;"
        "entries('method'); RunSpec(parts=['fedprox']).id; sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
