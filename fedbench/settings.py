"""Settings as they are typed on a command line."""

from collections.abc import Iterable
from typing import Any

from fedbench.errors import FedbenchError
from fedbench.yamlfile import read_value


def parse(pairs: Iterable[str]) -> dict[str, Any]:
    """`['alpha=0.1', 'stratified=true']` as a mapping; values are spelled as in YAML.

    Raises `FedbenchError` on a pair without a key or '=', and on a key given twice.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not (key.strip() and sign):
            raise FedbenchError(f"'{pair}': a setting is written key=value")
        if key.strip() in found:
            raise FedbenchError(f"'{pair}': '{key.strip()}' is given twice")
        found[key.strip()] = read_value(text)
    return found
