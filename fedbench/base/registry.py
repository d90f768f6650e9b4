"""Finds public dataclasses of a kind by name, reading files as syntax: importing takes seconds."""

import ast
import importlib
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from itertools import chain, starmap
from pathlib import Path
from typing import Any

from fedbench.base.checks import require_hooks
from fedbench.base.checksums import checksums, parsed
from fedbench.base.errors import FedbenchError, at, called, failing, require_among, unknown
from fedbench.base.files import matching
from fedbench.base.plugins import KINDS, PluginFolder, plugin_folders, searched

_OWN = PluginFolder(Path(__file__).parents[1], "fedbench")
PACKAGES = {
    "text": ("tokenizers", "transformers"),
    "vit": ("timm",),
    "curvature": ("curvlinops",),
    "huggingface": ("datasets",),
}  # extra of pyproject.toml, a constant `EXTRA` → what it installs, by import name


@dataclass(frozen=True, eq=False)  # there is one of each, so that it can be a key
class Entry:
    """A class that YAML files name: where it is defined and what its file says, without import."""

    name: str
    module: str
    attribute: str
    fields: dict[str, Any]  # defaults by name, where they are literals
    doc: str
    constants: dict[str, Any]  # literal values of its `ClassVar`s and of names in capitals
    nulls: frozenset[str] = frozenset()  # the fields whose default is written as None
    folder: PluginFolder = _OWN
    file: Path = Path()
    sha256: Mapping[str, str] = field(default_factory=dict)  # empty unless a plug-in

    @property
    def code(self) -> list[str]:
        """12 digits each of the checksums of its files; empty unless a plug-in."""
        return [checksum[:12] for checksum in self.sha256.values()]

    def load(self) -> type:
        """The class itself, imported; `FedbenchError` on a file that is no plug-in, or changed."""
        cls: type
        if not self.sha256:
            cls = getattr(importlib.import_module(self.module), self.attribute)
            return cls
        file = str(self.file)
        if checksums(self.file, self.folder) != self.sha256:
            raise FedbenchError(f"{file}: was changed after it was read; start again")
        self.folder.make_importable()
        # whatever the user's code raises while it is imported
        with failing(f"{file}: cannot be imported"), at(file), _same_default_dtype(self.module):
            cls = getattr(importlib.import_module(self.module), self.attribute)
        self._require_base(cls)
        return cls

    def _require_base(self, cls: type) -> None:
        ours = {c.__name__: c for c in cls.__mro__ if c.__module__.startswith("fedbench.")}
        folders = {kind.base: kind.folder for kind in KINDS.values()}
        found = next((name for name in ours if name in folders), None)
        wanted = next(base for base, folder in folders.items() if folder == self.file.parent.name)
        if found != wanted:
            other = f"; as it derives from {found}, put it into {folders[found]}/" if found else ""
            raise FedbenchError(f"{self.file}: {self.attribute} must derive from {wanted}{other}")
        if wanted != "Part":  # which may have settings in place of hooks
            require_hooks(f"{self.file}: {self.attribute}", cls, ours[wanted])


@contextmanager
def _same_default_dtype(module: str) -> Iterator[None]:
    """Refuse a module that sets torch's default dtype; it is set back, and the module forgotten."""
    torch = sys.modules.get("torch")
    before = torch.get_default_dtype() if torch else None
    yield
    torch = sys.modules.get("torch")
    if torch and torch.get_default_dtype() != (before or torch.float32):
        found = str(torch.get_default_dtype()).removeprefix("torch.")
        torch.set_default_dtype(before or torch.float32)
        sys.modules.pop(module, None)
        said = f"sets PyTorch's default dtype to {found} when it is imported"
        raise FedbenchError(f"{said}; set precision: float64 instead, for double precision")


def entries(kind: str) -> dict[str, Entry]:
    """All entries of a kind by name, plug-ins last; raises `FedbenchError` on two of one name."""
    return _entries(kind, plugin_folders())


def find(kind: str, name: str) -> Entry:
    """The entry of that name; raises `FedbenchError` with the nearest name otherwise."""
    by_name = entries(kind)
    if name not in by_name:
        raise no_entry(kind, name, by_name)
    return by_name[name]


def no_entry(kind: str, name: str, allowed: Iterable[str]) -> FedbenchError:
    """The error for a name that is not allowed, or the name of a class that is no entry yet."""
    for file, _ in _plugged(kind, plugin_folders()):
        for node in _classes(file):
            if node.name.lower() == name.lower() and not _is_entry(node):
                return FedbenchError(
                    f"no {kind} '{name}': class {node.name} in {file} must have a base class of "
                    "fedbench and stand below @dataclass(frozen=True)"
                )
    return FedbenchError(f"{unknown(kind, name, allowed)} ({searched(KINDS[kind].folder)})")


def require_known(kind: str, name: str, params: dict[str, Any]) -> Entry:
    """The entry; raises `FedbenchError` on an unknown name or parameter, importing nothing."""
    entry = find(kind, name)
    for key in params:
        require_among(f"{kind} '{name}'", "parameter", key, entry.fields)
    return entry


def require_extra(extra: str, user: str) -> None:
    """Raise `FedbenchError`, with how to install it, if a package that `user` needs is missing."""
    missing = [name for name in PACKAGES[extra] if find_spec(name) is None]
    if missing:
        said = f"{user} needs {' and '.join(missing)}, which the extra '{extra}' installs"
        raise FedbenchError(f"{said}: pip install -c constraints.txt -e '.[{extra}]'")


def require_extras(chosen: Iterable[tuple[str, str]]) -> None:
    """Raise `FedbenchError` if an entry, given by kind and name, needs an extra that is missing."""
    for kind, name in sorted(chosen):
        if extra := find(kind, name).constants.get("EXTRA"):
            require_extra(extra, f"{kind} '{name}'")


def build(kind: str, name: str, params: dict[str, Any]) -> Any:
    """The object of that name with these parameters; its class checks their ranges."""
    plain = {k: tuple(v) if isinstance(v, list) else v for k, v in params.items()}
    cls = require_known(kind, name, params).load()
    try:
        inspect.signature(cls).bind(**plain)
    except TypeError as error:  # "missing a required argument: 'eta'"
        raise FedbenchError(f"{kind} '{name}': {error}") from None
    with called(f"{kind} '{name}'", cls.__name__):
        return cls(**plain)


@cache
def _entries(kind: str, folders: tuple[PluginFolder, ...]) -> dict[str, Entry]:
    by_name: dict[str, Entry] = {}
    own = matching(_OWN.root.joinpath(*KINDS[kind].package.split(".")), "*.py")
    files = [*((file, _OWN) for file in own), *_plugged(kind, folders)]
    for entry in chain.from_iterable(starmap(_read, files)):
        other = by_name.setdefault(entry.name, entry)
        if other is not entry:
            said = f"two entries of the kind {kind} are named '{entry.name}'"
            raise FedbenchError(f"{said}: in {other.file} and in {entry.file}; rename one class")
    return by_name


def _plugged(kind: str, folders: tuple[PluginFolder, ...]) -> Iterator[tuple[Path, PluginFolder]]:
    """The files of plug-in folders that import fedbench; other files are left alone."""
    for folder in folders:
        for file in matching(folder.root / KINDS[kind].folder, "*.py"):
            own = not file.name.startswith(("_", "test_"))
            if own and b"fedbench" in file.read_bytes():
                yield file, folder


def _read(file: Path, folder: PluginFolder) -> Iterator[Entry]:
    classes = [node for node in _classes(file) if _is_entry(node)]
    module = ".".join((folder.package, *file.relative_to(folder.root).with_suffix("").parts))
    sha256 = checksums(file, folder) if folder is not _OWN and classes else {}
    for node in classes:
        cls, doc = node.name, ast.get_docstring(node) or ""
        if not cls.isascii():
            rule = "runs' ids need a name of the letters A-Z a-z, digits and underscores"
            raise FedbenchError(f"{file}: class {cls}: the name is not allowed: {rule}")
        fields, constants, nulls = dict[str, Any](), dict[str, Any](), set[str]()
        for item in node.body:
            match item:
                case ast.AnnAssign(target=ast.Name(id=name)):
                    constant = "ClassVar" in ast.unparse(item.annotation)
                    (constants if constant else fields)[name] = _literal(item.value)
                    if isinstance(item.value, ast.Constant) and item.value.value is None:
                        nulls.add(name)
                case ast.Assign(targets=[ast.Name(id=name), *_]) if name.isupper():
                    constants[name] = _literal(item.value)
        known = (frozenset(nulls), folder, file, sha256)
        yield Entry(cls.lower(), module, cls, fields, doc, constants, *known)


def _classes(file: Path) -> list[ast.ClassDef]:
    nodes = parsed(file, file.read_bytes()).body
    return [node for node in nodes if isinstance(node, ast.ClassDef)]


def _is_entry(node: ast.ClassDef) -> bool:
    decorated = any("dataclass" in ast.unparse(d) for d in node.decorator_list)
    bases = [ast.unparse(base) for base in node.bases]
    return decorated and not node.name.startswith("_") and bool(bases) and "ABC" not in bases


def _literal(node: ast.expr | None) -> Any:
    try:
        return None if node is None else ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
