"""Whether the tables, grids, axes, levels and claims that a paper's claims name are there."""

from typing import TYPE_CHECKING

from fedbench.base.errors import FedbenchError, unknown
from fedbench.claim import Claim, Comparison, Together, Trend, where_of
from fedbench.level import Level, as_tuple, stems
from fedbench.reading import reading

if TYPE_CHECKING:
    from fedbench.paper import Grid, Paper


def check_claims(paper: "Paper") -> None:
    """Raise `FedbenchError` on the first name that the paper does not have."""
    for name, claim in paper.claims.items():
        at = f"claims.{name}"
        if isinstance(claim, Together):
            _check_members(at, claim, paper.claims)
        else:
            _check_comparison(at, claim, paper)


def kept_claims(claims: dict[str, Claim], tables: set[str], grids: set[str]) -> dict[str, Claim]:
    """The claims about some tables and grids, and those about nothing but these claims."""
    own = {
        name: claim
        for name, claim in claims.items()
        if not isinstance(claim, Together) and (claim.table in tables or claim.grid in grids)
    }
    return {
        name: claim
        for name, claim in claims.items()
        if name in own or (isinstance(claim, Together) and own.keys() >= set(claim.claims))
    }


def _check_members(at: str, claim: Together, claims: dict[str, Claim]) -> None:
    single = {name for name, other in claims.items() if not isinstance(other, Together)}
    for name in claim.claims:
        if name not in single:
            raise FedbenchError(f"{at}.claims: {unknown('claim', name, single)}")


def _check_comparison(at: str, claim: Comparison, paper: "Paper") -> None:
    if claim.table and claim.table not in paper.tables:
        raise FedbenchError(f"{at}.table: {unknown('table', claim.table, paper.tables)}")
    if claim.table and paper.tables[claim.table].minus:
        raise FedbenchError(f"{at}.table: {claim.table} shows gains; name its grid instead")
    if claim.grid and claim.grid not in paper.grids:
        raise FedbenchError(f"{at}.grid: {unknown('grid', claim.grid, paper.grids)}")
    grid = paper.grids[claim.grid or paper.tables[claim.table].grid]
    free = any("/" in metric for metric in claim.metrics)
    named = [("where", claim.where), *((name, where_of(side)) for name, side in claim.sides())]
    named += [("along", dict(claim.along))] if isinstance(claim, Trend) else []
    for field, where in named:
        for axis, levels in where.items():
            _check_levels(f"{at}.{field}", grid, axis, as_tuple(levels), free)


def _check_levels(at: str, grid: "Grid", axis: str, levels: tuple[Level, ...], free: bool) -> None:
    """`free`: axes that the grid does not have are columns of a probe's table."""
    if axis == "metric":
        for level in levels:
            reading(str(level))
    elif axis in grid.axes:
        for level in levels:
            if level not in grid.axes[axis] and not stems(level, grid.axes[axis]):
                raise FedbenchError(
                    f"{at}.{axis}: {unknown('level', level, map(str, grid.axes[axis]))}"
                )
    elif not free:
        raise FedbenchError(f"{at}: {unknown('axis', axis, [*grid.axes, 'metric'])}")
