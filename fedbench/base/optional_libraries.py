"""Libraries that only classes with a constant `EXTRA` need, and the extras that install them."""

from collections.abc import Iterable
from importlib.util import find_spec

from fedbench.base import registry
from fedbench.base.errors import FedbenchError

PACKAGES = {
    "text": ("tokenizers", "transformers"),
    "vit": ("timm",),
    "curvature": ("curvlinops",),
    "huggingface": ("datasets",),
}  # extra of pyproject.toml → what it installs, by import name


def require(extra: str, user: str) -> None:
    """Raise `FedbenchError`, with how to install it, if a package that `user` needs is missing."""
    missing = [name for name in PACKAGES[extra] if find_spec(name) is None]
    if missing:
        said = f"{user} needs {' and '.join(missing)}, which the extra '{extra}' installs"
        raise FedbenchError(f"{said}: pip install -c constraints.txt -e '.[{extra}]'")


def require_all(chosen: Iterable[tuple[str, str]]) -> None:
    """Raise `FedbenchError` if an entry, given by kind and name, needs an extra that is missing."""
    for kind, name in sorted(chosen):
        extra = registry.find(kind, name).constants.get("EXTRA")
        if extra:
            require(extra, f"{kind} '{name}'")
