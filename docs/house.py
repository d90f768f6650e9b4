"""Draws `docs/house.svg`: the packages of fedbench, and which of them imports which.

    python docs/house.py

An arrow that other arrows already imply (a → b → c implies a → c) is left out.
"""

import ast
import textwrap
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

ROOT = Path(__file__).parents[1]
OUTSIDE = ("__init__", "__main__")  # entry points, not packages
_WIDTH, _HEIGHT = 2.3, 0.8


def rooms(root: Path = ROOT / "fedbench") -> dict[str, set[str]]:
    """Each package or module directly below `root`, with those whose modules it imports."""
    found: dict[str, set[str]] = {}
    for file in sorted(root.rglob("*.py")):
        room = file.relative_to(root).with_suffix("").parts[0]
        if room not in OUTSIDE:
            found.setdefault(room, set()).update(_imported(file))
    return {room: (used & found.keys()) - {room} for room, used in found.items()}


def _imported(file: Path) -> Iterator[str]:
    """The packages of `fedbench` that a file imports anywhere, if only for types."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "fedbench":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fedbench."):
            yield str(node.module).split(".")[1]
        elif isinstance(node, ast.Import):
            names = (alias.name.split(".") for alias in node.names)
            yield from (parts[1] for parts in names if parts[0] == "fedbench" and parts[1:])


def levels(graph: dict[str, set[str]]) -> dict[str, int]:
    """The floor of each room: 0 where it uses no other, else one above the highest it uses."""
    floor: dict[str, int] = {}

    def of(room: str) -> int:
        if room not in floor:
            floor[room] = 1 + max((of(used) for used in graph[room]), default=-1)
        return floor[room]

    for room in graph:
        of(room)
    return floor


def reduced(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The graph without arrows that others imply."""
    return {room: used - _further(graph, used) for room, used in graph.items()}


def _further(graph: dict[str, set[str]], start: set[str]) -> set[str]:
    """All rooms that the rooms of `start` use, directly or not."""
    seen: set[str] = set()
    todo = [below for room in start for below in graph[room]]
    while todo:
        room = todo.pop()
        if room not in seen:
            seen.add(room)
            todo += graph[room]
    return seen


def words(room: str, root: Path = ROOT / "fedbench") -> str:
    """The first sentence of a room's docstring."""
    file = root / room / "__init__.py" if (root / room).is_dir() else root / f"{room}.py"
    doc = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return doc.split("\n\n")[0].replace("\n", " ")


def draw(file: Path) -> None:
    """Write the picture as SVG, the same bytes each time."""
    graph = rooms()
    places = _places(levels(graph))
    width = 1 + max(x for x, _ in places.values()) + _WIDTH
    height = 1 + max(y for _, y in places.values()) + _HEIGHT
    with mpl.rc_context({"svg.hashsalt": "fedbench", "svg.fonttype": "none"}):
        figure, axes = plt.subplots(figsize=(width, height))
        for room, used in sorted(reduced(graph).items()):
            for below in sorted(used):
                _arrow(axes, places[room], places[below])
        for room, place in places.items():
            _box(axes, room, place)
        axes.set(xlim=(-0.5, width - 0.5), ylim=(-0.5, height - 0.5))
        axes.axis("off")
        figure.savefig(file, metadata={"Date": None}, bbox_inches="tight")
        plt.close(figure)


def _places(floors: dict[str, int]) -> dict[str, tuple[float, float]]:
    """The lower left corner of each room; a floor's rooms stand side by side, centred."""
    rows = {n: sorted(r for r, floor in floors.items() if floor == n) for n in floors.values()}
    widest = max(len(row) for row in rows.values())
    gap = _WIDTH + 0.35
    return {
        room: ((widest - len(row)) * gap / 2 + i * gap, n * (_HEIGHT + 0.7))
        for n, row in rows.items()
        for i, room in enumerate(row)
    }


def _box(axes: Axes, room: str, place: tuple[float, float]) -> None:
    x, y = place
    box = FancyBboxPatch(place, _WIDTH, _HEIGHT, boxstyle="round,pad=0.06", zorder=2)
    box.set(facecolor="#f4f1ea", edgecolor="#4a4a4a")
    axes.add_patch(box)
    centre = x + _WIDTH / 2
    text = textwrap.shorten(words(room), 100, placeholder=" …")
    kind = {"ha": "center", "zorder": 3}
    axes.text(centre, y + _HEIGHT - 0.02, room, va="top", weight="bold", size=10, **kind)
    axes.text(centre, y + 0.5, textwrap.fill(text, 34), va="top", size=6.5, **kind)


def _arrow(axes: Axes, above: tuple[float, float], below: tuple[float, float]) -> None:
    style = {"arrowstyle": "-|>", "color": "#8a8a8a", "linewidth": 0.8, "shrinkA": 4, "shrinkB": 4}
    end = (below[0] + _WIDTH / 2, below[1] + _HEIGHT)
    axes.annotate("", end, (above[0] + _WIDTH / 2, above[1]), arrowprops=style, zorder=1)


if __name__ == "__main__":
    draw(Path(__file__).with_suffix(".svg"))
