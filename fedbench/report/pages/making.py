"""Where a paper's runs come from: devices, versions, hours and data, as their records say."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Record = dict[str, Any]
_SUMS = ("checksum", "sha256", "name")  # of a data set's origin: told on the page of a run


@dataclass(frozen=True)
class Making:
    """The facts of the making of some runs; each line names how many runs it is true of."""

    runs: int
    seconds: float
    days: tuple[str, ...]
    devices: tuple[str, ...]
    versions: tuple[str, ...]
    data: tuple[str, ...]

    @property
    def when(self) -> str:
        """The days on which the runs ended: '2026-11-22 to 2026-11-23'; empty if none says."""
        return " to ".join(dict.fromkeys((min(self.days), max(self.days)))) if self.days else ""

    @property
    def spent(self) -> str:
        """The time of local training, server and evaluation in all runs: '0.4 hours'."""
        hours = self.seconds / 3600
        return f"{hours:.1f} hours" if hours >= 1 else f"{self.seconds / 60:.1f} minutes"


def making(records: Iterable[Record]) -> Making | None:
    """The facts that these records tell; None if there is no record."""
    everything = list(records)
    if not everything:
        return None
    return Making(
        runs=len(everything),
        seconds=sum(sum(record.get("seconds", {}).values()) for record in everything),
        days=tuple(str(record["ended"])[:10] for record in everything if "ended" in record),
        devices=_counted(map(_device, everything)),
        versions=_counted(_pairs(record.get("versions", {})) for record in everything),
        data=_counted(_origin(record.get("data", {})) for record in everything),
    )


def _device(record: Record) -> str:
    """'cpu, AMD EPYC, x86_64 AVX512'."""
    told = (record.get(key, "") for key in ("device", "processor", "machine"))
    return ", ".join(filter(None, told))


def _pairs(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _origin(data: dict[str, str]) -> str:
    """'digitpairs, source: substitute: pairs of scikit-learn 1.9.1 load_digits'."""
    told = [f"{key}: {text}" for key, text in data.items() if key not in _SUMS]
    return ", ".join([data.get("name", ""), *told])


def _counted(texts: Iterable[str]) -> tuple[str, ...]:
    """Each text once, the most frequent first, with its number of runs if there are several."""
    counts = Counter(text for text in texts if text)
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return tuple(
        text if len(ordered) == 1 else f"{text} ({n} run{'s' * (n > 1)})" for text, n in ordered
    )
