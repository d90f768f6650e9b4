"""The folders that plug-ins are read from: packages, FEDBENCH_PLUGINS, the working folder."""

import hashlib
import importlib.util
import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from fedbench.base.checks import M, Taken, require_name
from fedbench.base.errors import FedbenchError, unknown
from fedbench.base.files import exists, matching, read_text
from fedbench.base.yamlfile import loaded

VARIABLE = "FEDBENCH_PLUGINS"
GROUP = "fedbench"


class Kind(NamedTuple):
    """A kind of what YAML files name: where it lies in fedbench and in plug-in folders."""

    package: str  # of fedbench, with those that come with it
    folder: str  # the sub-folder of a plug-in folder
    base: str  # the name of their base class, in a room above this one


KINDS = {
    "method": Kind("methods", "methods", "Part"),
    "model": Kind("models", "models", "Architecture"),
    "dataset": Kind("data.sources", "data", "Source"),
    "partition": Kind("data.partitions", "partitions", "Partition"),
    "shift": Kind("data.shifts", "shifts", "Shift"),
    "sampler": Kind("sampling", "samplers", "Sampler"),
    "work": Kind("work", "work", "Work"),
    "probe": Kind("probes", "probes", "Probe"),
    "figure": Kind("report.kinds", "figures", "Kind"),
    "facts": Kind("report.facts", "facts", "Fact"),
}
_NAMESPACE = "fedbench_plugins"  # of the modules in folders that are no packages
_NAMED = "compositions.yaml"  # methods by the names that papers give them
_CONTENT = (*(kind.folder for kind in KINDS.values()), "papers", "scales", _NAMED)
_PACKAGE = Path(__file__).parents[1].resolve()


@dataclass(frozen=True)
class PluginFolder:
    """A folder of plug-ins, and the package under whose name its modules are imported."""

    root: Path
    package: str

    def make_importable(self) -> None:
        """Add its package, which has no file, to `sys.modules`, unless it is a package already."""
        if not self.package.startswith(f"{_NAMESPACE}."):
            return
        for name, path in ((_NAMESPACE, []), (self.package, [str(self.root)])):
            module = ModuleType(name)
            module.__path__ = path
            sys.modules.setdefault(name, module)


def plugin_folders() -> tuple[PluginFolder, ...]:
    """The folders that hold anything to plug in; raises `FedbenchError` on one that is missing."""
    try:
        here = os.getcwd()
    except FileNotFoundError:
        raise FedbenchError("the working folder is not there any more; change to another") from None
    return _folders(here, os.environ.get(VARIABLE, ""))


def search_also(folder: Path) -> None:
    """Add a folder with plug-ins to FEDBENCH_PLUGINS; `FedbenchError` if that cannot name it."""
    if not _has_plugins(folder):
        return
    path, before = str(folder.resolve()), os.environ.get(VARIABLE, "")
    if os.pathsep in path:
        said = f"a folder of plug-ins cannot have '{os.pathsep}' in its path"
        raise FedbenchError(f"{path}: {said}, which separates folders in {VARIABLE}; rename it")
    os.environ[VARIABLE] = os.pathsep.join(filter(None, [before, path]))


@contextmanager
def same_folders_after() -> Iterator[None]:
    """A context whose end takes back what `search_also` added in it."""
    before = os.environ.get(VARIABLE)
    try:
        yield
    finally:
        os.environ.pop(VARIABLE, None)
        if before is not None:
            os.environ[VARIABLE] = before


def project() -> Path:
    """The folder with the `Snakefile` and `workflow/`: a checkout here, or else fedbench's own."""
    installed = _PACKAGE / "project"
    if Path("workflow/papers").is_dir():
        return Path()
    return installed if installed.is_dir() else _PACKAGE.parent


def nearby(path: Path) -> Path:
    """A path inside the working folder, written from there; any other path as it is."""
    inside = path.resolve().is_relative_to(Path.cwd())
    return path.resolve().relative_to(Path.cwd()) if inside else path


def composition_files() -> list[Path]:
    """The files with named methods in plug-in folders."""
    return [file for each in plugin_folders() if exists(file := each.root / _NAMED)]


def find_file(folder: Path, name: str) -> Path:
    """The file in `folder`, there or not, or one in a plug-in folder's sub-folder of that name."""
    places = [folder / name, *(plugged.root / folder.name / name for plugged in plugin_folders())]
    return next((place for place in places if exists(place)), places[0])


def files_by_name(folder: Path) -> dict[str, Path]:
    """YAML files in `folder` and its like in plug-in folders, by stem; `FedbenchError` on two."""
    files: dict[str, Path] = {}
    for place in (folder, *(plugged.root / folder.name for plugged in plugin_folders())):
        for file in matching(place, "*.yaml"):
            other = files.setdefault(file.stem, file)
            if other.resolve() != file.resolve():
                raise FedbenchError(f"two files '{file.name}': {other} and {file}; rename one")
    return files


def load_named(
    folder: Path, what: str, kind: type[M], names: Collection[str], taken: Taken | None = None
) -> tuple[dict[str, M], dict[str, str], dict[str, Path]]:
    """The files of a folder, and of its like with plug-ins, by name: read, as text, and where.

    Where all of them are, and only those named are read, or all if none is. Raises `FedbenchError`
    on a name that is not there, or that is `taken`; `what` says in errors what a file is.
    """
    files = files_by_name(folder)
    for name in names:
        if name not in files:
            raise FedbenchError(f"{unknown(what, name, files)} ({searched(folder.name)})")
    chosen = {name: file for name, file in files.items() if not names or name in names}
    texts = {name: read_text(file) for name, file in chosen.items()}
    for name, file in chosen.items():  # it must do for paths and links
        require_name("the file's name", name, file, taken)
    return {name: loaded(texts[name], file, kind) for name, file in chosen.items()}, texts, files


def searched(folder: str) -> str:
    """Where plug-ins of the sub-folder `folder` are looked for, in words for an error."""
    roots = _searched(os.getcwd(), os.environ.get(VARIABLE, ""))
    missing = {root: "" if exists(root / folder) else ", which does not exist" for root in roots}
    return "looked in " + " and ".join(f"{folder}/ of {root}{no}" for root, no in missing.items())


@cache
def _folders(here: str, named: str) -> tuple[PluginFolder, ...]:
    places = _searched(here, named).items()
    return tuple(PluginFolder(*x) for x in places if x[0] != _PACKAGE and _has_plugins(x[0]))


@cache
def _searched(here: str, named: str) -> dict[Path, str]:
    """The folders in which plug-ins are looked for, whether they hold any or not, and packages."""
    packages = {_location(point): point.value for point in metadata.entry_points(group=GROUP)}
    for name in [*filter(None, map(str.strip, named.split(os.pathsep))), here]:
        root = Path(here, os.path.expanduser(name)).resolve()
        if not root.is_dir():
            raise FedbenchError(f"{VARIABLE}: there is no folder '{name}'")
        # two folders that are no packages may both have `methods/mine.py`
        unique = hashlib.sha256(str(root).encode()).hexdigest()[:12]
        packages.setdefault(root, f"{_NAMESPACE}.f{unique}")
    return packages


def _has_plugins(folder: Path) -> bool:
    return any(exists(folder / name) for name in _CONTENT)


def _location(point: metadata.EntryPoint) -> Path:
    """A package's folder; of 'lab.bench' only the folder of `lab` is asked for, not imported."""
    top, *inner = point.value.split(".")
    spec = importlib.util.find_spec(top)
    places = [*(spec.submodule_search_locations or ())] if spec else []
    folder = Path(*places[:1], *inner).resolve()
    if not (places and folder.is_dir()):
        said = f"the entry point '{point.name}' of the group '{GROUP}' names '{point.value}'"
        raise FedbenchError(f"{said}, which is no installed package; repair its distribution")
    return folder
