"""What each method needs beside a model: shared information, proxy data, a changed model."""

from dataclasses import dataclass

from fedbench.report.tables.fact import Fact, PaperReader
from fedbench.report.tables.fact_table import FactColumn, FactRow, FactTable

_COLUMNS = ("Add. Inf. Sharing", "Proxy Data", "Model Modification", "What is shared")
_NOTE = (
    "Read from what our implementations of the methods declare; data held out for the server count "
    "as proxy data."
)


@dataclass(frozen=True)
class Traits(Fact):
    """Ticks and crosses from what the parts declare (FedGKD paper, Table 1).

    `methods` are levels of the axis `method`.
    """

    methods: tuple[str, ...]

    def table(self, reader: PaperReader) -> FactTable:
        """One row per method, under the paper's column names; the last one says what is shared."""
        rows = tuple(_row(name, reader) for name in self.methods)
        return FactTable("Method", tuple(map(FactColumn, _COLUMNS)), rows, _NOTE)


def _row(name: str, reader: PaperReader) -> FactRow:
    settings, parts = reader.method(name)
    shared = "; ".join(part.shares for part in parts if part.shares)
    proxy = any(part.proxy_data for part in parts)
    modified = "projection" in settings or any(part.needs_projection for part in parts)
    return FactRow(name, (bool(shared), proxy, modified, shared or None))
