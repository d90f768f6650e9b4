"""A short name for a value: the first digits of its checksum, the same however it is written."""

import hashlib
import json
from typing import Any

from fedbench.base.errors import FedbenchError


def digest(value: Any) -> str:
    """12 hexadecimal digits of the sha256 of a value as JSON, with sorted keys.

    Raises `FedbenchError` on lists or mappings that lie hundreds deep inside each other.
    """
    try:
        text = json.dumps(canonical(value), sort_keys=True, separators=(",", ":"))
    except RecursionError:
        raise FedbenchError("lists or mappings are nested too deeply") from None
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def canonical(value: Any) -> Any:
    """The value as JSON spells it in one way: 1.0 is 1, a tuple is a list, keys are text."""
    if isinstance(value, dict):
        return {str(k): canonical(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [canonical(v) for v in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
