"""How runs differ from the paper's, in words: 'rounds 6 for 500; lr 0.3 for 0.1'."""

from collections.abc import Iterable


def common(texts: Iterable[str]) -> tuple[str, ...]:
    """The parts that every text has, in the order of the first."""
    split = [text.split("; ") if text else [] for text in texts]
    return tuple(part for part in split[0] if all(part in s for s in split)) if split else ()


def rest(text: str, shared: tuple[str, ...]) -> str:
    """The parts of a text that are not among `shared`."""
    return "; ".join(part for part in text.split("; ") if part not in shared)


def merged(texts: Iterable[str]) -> str:
    """One text for all: 'rounds 6 for 500; lr 0.3 for 0.1 / 0.6 for 0.2'."""
    changes_of: dict[str, dict[str, None]] = {}
    for text in filter(None, texts):
        for part in text.split("; "):
            field, _, change = part.partition(" ")
            changes_of.setdefault(field, {})[change] = None
    return "; ".join(f"{field} {' / '.join(changes)}" for field, changes in changes_of.items())
