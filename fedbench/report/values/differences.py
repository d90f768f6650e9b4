"""How runs differ from the paper's, in words: 'rounds 6 for 500; lr 0.3 for 0.1'."""

from collections.abc import Iterable


def common(texts: Iterable[str]) -> tuple[str, ...]:
    """The parts that every text has, in the first's order."""
    split = [text.split("; ") if text else [] for text in texts]
    return tuple(part for part in split[0] if all(part in s for s in split)) if split else ()


def rest(text: str, known: tuple[str, ...]) -> str:
    """The parts that are not known already."""
    return "; ".join(part for part in text.split("; ") if part not in known)


def merged(texts: Iterable[str]) -> str:
    """One text for all: 'rounds 6 for 500; lr 0.3 for 0.1 / 0.6 for 0.2'."""
    found: dict[str, dict[str, None]] = {}
    for text in filter(None, texts):
        for part in text.split("; "):
            field, _, change = part.partition(" ")
            found.setdefault(field, {})[change] = None
    return "; ".join(f"{field} {' / '.join(changes)}" for field, changes in found.items())
