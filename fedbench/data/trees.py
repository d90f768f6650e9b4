"""Sentiment trees as Stanford writes them: `(3 (2 Good) (2 (2 old) (2 fun)))`."""

import re

_LEAF = re.compile(r"\([0-4] ([^()\s]+)\)")
_NODE = re.compile(r"\([0-4](?: x)+\)")
_ESCAPES = {"-LRB-": "(", "-RRB-": ")", "\\/": "/", "\\*": "*"}


def root_and_words(line: str) -> tuple[int, str]:
    """The root's grade 0…4 and the sentence; raises `ValueError` on anything but one tree."""
    rest = _LEAF.sub("x", line)
    while (folded := _NODE.sub("x", rest)) != rest:
        rest = folded
    if rest != "x":
        raise ValueError(f"{rest[:40]!r} is left when all nodes are folded")
    sentence = " ".join(_LEAF.findall(line))
    for written, meant in _ESCAPES.items():
        sentence = sentence.replace(written, meant)
    return int(line[1]), sentence
