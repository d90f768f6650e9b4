"""The checksum of a run's record, kept in the record itself: an edit of any field is noticed."""

from collections.abc import Mapping
from typing import Any

from fedbench.base.digest import digest
from fedbench.base.errors import FedbenchError

_SEAL = "checksum"


def sealed(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with the checksum of all its other fields, as its last field."""
    return {**_others(record), _SEAL: digest(_others(record))}


def sealed_again(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record with fields that were changed on purpose; one of an earlier version has no seal."""
    return sealed(record) if _SEAL in record else dict(record)


def require_sealed(file: object, record: Mapping[str, Any], remedy: str) -> None:
    """Raise `FedbenchError` if a field was edited; records of earlier versions cannot tell."""
    if _SEAL in record and record[_SEAL] != digest(_others(record)):
        raise FedbenchError(
            f"{file}: is not the record that the run wrote, by its field {_SEAL!r}; {remedy}"
        )


def _others(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != _SEAL}
