"""What each method asks for beside a model."""

from dataclasses import dataclass

from fedbench.report.tables.fact import Fact, Source
from fedbench.report.tables.sheet import Column, Row, Sheet

_COLUMNS = ("Add. Inf. Sharing", "Proxy Data", "Model Modification", "What is shared")
_NOTE = (
    "Read off what the methods' parts declare; data held out for the server count as proxy data."
)


@dataclass(frozen=True)
class Traits(Fact):
    """Ticks and crosses from what the parts declare (FedGKD paper, Table 1).

    `methods` are named methods.
    """

    methods: tuple[str, ...]

    def sheet(self, source: Source) -> Sheet:
        """A row a method, under the paper's column names and what is shared in words."""
        rows = tuple(_row(name, source) for name in self.methods)
        return Sheet("Method", tuple(map(Column, _COLUMNS)), rows, _NOTE)


def _row(name: str, source: Source) -> Row:
    settings, parts = source.method(name)
    shared = "; ".join(part.shares for part in parts if part.shares)
    proxy = any(part.proxy_data for part in parts)
    modified = "projection" in settings or any(part.needs_projection for part in parts)
    return Row(name, (bool(shared), proxy, modified, shared or None))
