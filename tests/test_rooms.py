"""The layering of the house: which room may use which, and what starts without PyTorch."""

import ast
import importlib.util
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import fedbench
from fedbench.base import registry
from tests.project import ROOT

PACKAGE = Path(fedbench.__file__).parent
ROOMS = {  # a room → the rooms it may use: at a file's top, in functions, for types alone
    "base": "",
    "core": "base",
    "data": "base",
    "sampling": "base",
    "work": "base",
    "spec": "base",
    "store": "base spec",
    "models": "base data",
    "methods": "base core",
    "paper": "base spec",
    "plan": "base paper sampling spec store",
    "engine": "base core data models sampling spec store work",
    "probes": "base core data engine methods models spec work",
    "report": "base core data paper plan sampling spec store",
    "jobs": "base engine plan spec store",
    "cli": "base core data engine jobs methods models paper plan probes report sampling spec store",
}
LIMIT = 300  # lines of a module


def picture():
    """The script that draws the house, as a module."""
    spec = importlib.util.spec_from_file_location("house", ROOT / "docs/house.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def running(tree):
    """All nodes of a tree but those below `if TYPE_CHECKING:`."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from running(node)


def imported(file):
    """Modules of fedbench that a file imports when it runs; types may refer to each other."""
    for node in running(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "fedbench":
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_each_room_uses_only_rooms_below_it():
    graph = picture().rooms()
    assert graph.keys() == ROOMS.keys()
    above = {room: used - set(ROOMS[room].split()) for room, used in graph.items()}
    assert {room: used for room, used in above.items() if used} == {}


def test_an_import_for_types_alone_counts(tmp_path):
    (tmp_path / "low").mkdir()
    (tmp_path / "high").mkdir()
    text = "if TYPE_CHECKING:\n    from fedbench.high.x import X\n"
    (tmp_path / "low/a.py").write_text(text)
    (tmp_path / "high/x.py").write_text("X = 1\n")
    assert picture().rooms(tmp_path) == {"high": set(), "low": {"high"}}


def test_the_rooms_stand_on_at_most_eight_floors():
    allowed = {room: set(used.split()) for room, used in ROOMS.items()}
    assert max(picture().levels(allowed).values()) < 8  # raises RecursionError on a circle


def test_no_import_goes_in_a_circle():
    files = {
        ".".join(("fedbench", *file.relative_to(PACKAGE).with_suffix("").parts)): file
        for file in PACKAGE.rglob("*.py")
        if file.name not in ("__init__.py", "__main__.py")
    }
    graph = {name: set(imported(file)) & files.keys() - {name} for name, file in files.items()}
    assert len(list(TopologicalSorter(graph).static_order())) == len(files)


def test_a_module_is_a_chapter_not_a_book():
    lines = {f: len(f.read_text(encoding="utf-8").splitlines()) for f in PACKAGE.rglob("*.py")}
    assert {str(f): n for f, n in lines.items() if n > LIMIT} == {}


def test_the_picture_of_the_house_is_today_s(tmp_path):
    picture().draw(tmp_path / "house.svg")
    assert (tmp_path / "house.svg").read_text() == (ROOT / "docs/house.svg").read_text()


def test_an_arrow_that_others_imply_is_not_drawn():
    graph = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert picture().reduced(graph) == {"a": {"b"}, "b": {"c"}, "c": set()}
    assert picture().levels(graph) == {"a": 2, "b": 1, "c": 0}


@pytest.mark.parametrize("kind", sorted(registry.KINDS))
def test_entries_are_named_after_their_class(kind):
    found = registry.entries(kind)
    assert found
    for name, entry in found.items():
        assert entry.load().__name__.lower() == name
        assert entry.doc


def test_a_method_has_its_own_file():
    files = {f.stem for f in (PACKAGE / "methods").glob("*.py")} - {"__init__"}
    found = registry.entries("method").items()
    assert {name: entry.module.rpartition(".")[2] for name, entry in found} == {f: f for f in files}


WITHOUT_TORCH = [
    *("import fedbench", "import fedbench.base", "import fedbench.data", "import fedbench.paper"),
    *("import fedbench.plan", "import fedbench.spec", "import fedbench.store"),
    "import fedbench.plan.plan, fedbench.report.site, fedbench.jobs.collect",
    "from fedbench.base.registry import entries; entries('method')",
    "from fedbench import RunSpec; RunSpec(parts=['fedprox']).id",
    "from fedbench.spec.compositions import compositions; compositions()['FedADC+'].run_settings()",
    # searches, and all papers as a user asks what they cost
    "from fedbench.plan.plan import make_plan;"
    "make_plan(Path('workflow'), 'paper', ('rmfl',), ('table1',))",
    "from fedbench.__main__ import app; app(['plan'], standalone_mode=False)",
    *(f"app(['list', '{kind}s'], standalone_mode=False)" for kind in ("method", "model", "probe")),
]


def test_what_starts_without_pytorch():
    """One process does one after the other: the first that imports torch is named."""
    code = "import sys; from pathlib import Path\n"
    for line in WITHOUT_TORCH:
        code += f"{line}\nassert 'torch' not in sys.modules, {line!r}\n"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
