"""What of a run's record and history is relied on when they are read again."""

from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ConfigDict, Field

from fedbench.base.errors import FedbenchError
from fedbench.base.strict import Strict, checked


class Record(Strict):
    """The fields of run.json that collecting, tracking and budgets read; there are more."""

    model_config = ConfigDict(extra="ignore")

    id: str
    status: str
    rounds: int
    resolved: dict[str, Any]
    data: dict[str, str]
    seconds: dict[str, float]
    sample_passes: float
    device: str
    files: dict[str, str] = Field(default_factory=dict)


def require_record(file: Path, found: dict[str, Any], remedy: str) -> Record:
    """The record's fields; raises `FedbenchError` naming the one that is missing or damaged."""
    try:
        return checked(Record, found)
    except FedbenchError as error:
        raise FedbenchError(f"{file}: not a run's record ({error}); {remedy}") from None


def require_history(file: Path, found: pd.DataFrame, remedy: str) -> None:
    """Raise `FedbenchError` unless every round is there once, in columns of numbers."""
    words = [name for name in found if not pd.api.types.is_numeric_dtype(found[name])]
    if words:
        raise FedbenchError(f"{file}: column '{words[0]}' has no numbers; {remedy}")
    if "round" not in found:
        raise FedbenchError(f"{file}: no column 'round'; {remedy}")
    twice = found["round"][found["round"].duplicated()]
    if len(twice):
        raise FedbenchError(f"{file}: round {twice.iloc[0]} stands there twice; {remedy}")
