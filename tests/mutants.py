"""Small valid documents, and what becomes of them when some of their values turn odd.

A document is plain data; odd values are written as YAML spells them, so that tags, aliases, dates
and broken text take part. A case is a short list of edits, which hypothesis can shrink.
"""

import json
import re
from typing import Any

from hypothesis import strategies as st

NUMBERS = (
    *("0", "-1", "1", "2", "0.5", "1.0", "1e-320", "1e308", "1e400", ".nan", ".inf", "-.inf"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e-4", "0x1F", "1:30"),
    *("1" * 400, "1" * 5000, "100000000000"),
)
TEXTS = (
    *('""', '" "', "$", '"*"', '"*+ASD"', "others", "method", "metric", "each", "=", "'"),
    *('"../../../evil"', '".."', '"."', '"a b"', '"f\\"><img src=x onerror=alert(1)>"', "ä∑🎈"),
    *('"x$(touch hit)"', '"\\n"', '"\\t"', '"\\0"', '"\\ud800"', '"\\u202e"', '"\\e[31m"'),
    *('"' + "x" * 300 + '"', "[red]", "{a}", "2001-13-45", "2001-12-14", "12:30:45", "yes", "Null"),
    *("accuracy@best", "accuracy@mean:10", "accuracy@mean:0", '"accuracy@"', "accuracy@-1"),
    *("accuracy@" + "9" * 5000, "acuracy", "val_loss", "steps/cosine", '"/"', "silhouette@std:2"),
)
NAMES = (
    *("fedprox", "fedprx", "mlp", "digits", "dl", "dr", "uniform", "curves", "bubbles", "levels"),
    *("bars", "costs", "final", "best", "every", "greater", "trend", "together", "slope", "main"),
    *(
        "FedAvg",
        "FedProx",
        "table1",
        "tiny",
        "alpha",
        "dataset",
        "seed",
        "lr",
        "fedprox.mu",
        "tune",
    ),
)
NESTED = (
    *("[]", "{}", "[[]]", "[{}]", "{a: {b: {c: 1}}}", "[1, [2, [3]]]", "[a, a]", "{1: 2}"),
    *("{.nan: 1}", "{null: 1}", "{[1]: 2}", "{? {a: b} : c}", "{a: 1, a: 2}", "{true: 1}"),
    *(
        "[" * 60 + "]" * 60,
        "[" * 60,
        "[" + "0, " * 200 + "0]",
        "{fedprox: 0}",
        "{fedprox: {mu: x}}",
    ),
    *("{grid: {lr: [0.1, 0.2]}}", "{grid: {fedprox.mu: [1]}, trials: {parts: [fedprox]}}"),
    *("{kind: greater, winner: 1, loser: 2}", "{method: [FedAvg, FedProx]}", "{metric: accuracy}"),
    *("{mlp: {hidden: 100000000000}}", "{levels: {axis: alpha}}", "{name: mlp, params: 3}"),
)
TAGGED = (
    *(
        "!!int x",
        "!!bool x",
        "!!float x",
        "!!null x",
        "!!timestamp x",
        "!!binary aGk=",
        "!!set {a}",
    ),
    *("!!python/object:os.system x", "!own x", "&a [*a]", "*nobody", "!!str [a]", "!!map 3", "~"),
    *(
        "&a [1, 2]",
        "{<<: {a: 1}}",
        "!!omap [a: 1]",
        "null",
        "true",
        "false",
        "|\n  a\n b",
        "- a",
        "%",
    ),
)
ODD = (*NUMBERS, *TEXTS, *NAMES, *NESTED, *TAGGED)
EDITS = ("set", "set", "set", "drop", "key", "add", "copy", "wrap", "text")

_edit = st.tuples(
    st.sampled_from(EDITS), st.integers(0, 999), st.integers(0, 999), st.integers(0, len(ODD) - 1)
)
edits = st.lists(_edit, min_size=1, max_size=3)


_PLAIN = re.compile("(?!(yes|no|on|off|true|false|null)$)[A-Za-z_]+[0-9]?", re.IGNORECASE)


class Raw(str):
    """Text that stands in the document as it is."""


def document(base: Any, changes: list[tuple[str, int, int, int]], plain: bool = True) -> str:
    """The base after the edits, as YAML; as JSON, where nothing was edited, unless `plain`."""
    whole = [json.loads(json.dumps(base))]
    for how, place, other, odd in changes:
        if how != "text":
            _edited(whole, how, (place, other), Raw(ODD[odd]))
    text = written(whole[0], plain)
    for how, place, other, odd in changes:
        if how == "text":
            at = (place * 1000 + other) % (len(text) + 1)
            text = text[:at] + ODD[odd][:1] + text[at + other % 3 :]
    return text


def _edited(whole: list[Any], how: str, at: tuple[int, int], odd: Raw) -> None:
    places = list(_places(whole))
    holder, key = places[at[0] % len(places)]
    if how == "set":
        holder[key] = odd
    elif how == "wrap":
        holder[key] = [holder[key]] if at[1] % 2 else {odd: holder[key]}
    elif how == "copy":
        source, name = places[at[1] % len(places)]
        holder[key] = json.loads(json.dumps(source[name]))
    elif how == "drop" and holder is not whole:
        holder.pop(key)
    elif isinstance(holder, dict):
        holder[odd] = holder.pop(key) if how == "key" else odd
    elif how == "add":
        holder.append(odd)


def _places(holder: Any) -> Any:
    """Every value of the document, as what holds it and under which key."""
    keys = list(holder) if isinstance(holder, dict) else range(len(holder))
    for key in keys:
        yield holder, key
        if isinstance(holder[key], dict | list):
            yield from _places(holder[key])


def written(value: Any, plain: bool) -> str:
    """In the flow style, odd values as they are; `plain` spares words their quotes."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        pairs = (f"{written(key, plain)} : {written(item, plain)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(written(item, plain) for item in value) + "]"
    word = plain and isinstance(value, str) and _PLAIN.fullmatch(value)
    return str(value) if word else json.dumps(value)
