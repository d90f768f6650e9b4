"""The comparison that a claim makes of two members of its sides."""

from fedbench.paper.claims import Comparison, Earlier, Equal, Greater, Order, Slope, Spread
from fedbench.report.claims.contests import Member
from fedbench.report.claims.contrast import Contrast
from fedbench.report.claims.difference import Difference, Term
from fedbench.report.claims.limit import Beyond, Limit, Within
from fedbench.report.claims.naming import member, unit_of
from fedbench.report.claims.source import Coords
from fedbench.report.claims.speed import Speed
from fedbench.report.claims.steadiness import Steadiness
from fedbench.report.metrics import Metric


def duel(claim: Comparison, pair: tuple[Member, Member], named: frozenset[str]) -> Contrast:
    """The first member against the second; `named` are the axes that tell them apart."""
    label = " against ".join(member(x, named) for x in pair)
    first, second = pair
    if isinstance(claim, Spread | Earlier) and isinstance(first, dict) and isinstance(second, dict):
        if isinstance(claim, Earlier):
            return Speed(label, "rounds", Beyond(0.0), first, second, claim.target)
        return Steadiness(label, "%", Beyond(0.0), first, second)
    if isinstance(claim, Equal):
        return _difference(label, pair, 1.0, Within(claim.margin), claim.relative)
    if isinstance(claim, Slope):
        return _difference(label, pair, 1.0 if claim.goes == "up" else -1.0, Beyond(0.0), False)
    if isinstance(claim, Greater):
        limit = Beyond(claim.by - claim.margin)
        return _difference(label, pair, _sign(pair, claim.wins), limit, claim.relative)
    if isinstance(claim, Order):
        return _difference(label, pair, _sign(pair, claim.wins), Beyond(0.0), False)
    raise TypeError(type(claim))


def _difference(
    label: str, pair: tuple[Member, Member], sign: float, limit: Limit, relative: bool
) -> Difference:
    weighed = list(zip(pair, (sign, -sign), strict=True))
    terms = tuple(Term(w, (x,)) for x, w in weighed if isinstance(x, dict))
    constant = sum(w * x for x, w in weighed if isinstance(x, float))
    base = pair[1] if relative and isinstance(pair[1], dict) else None
    unit = "%" if base else unit_of(_point(pair))
    return Difference(label, unit, limit, terms, constant, base)


def _sign(pair: tuple[Member, Member], wins: str | None) -> float:
    """−1 where less is better."""
    low = Metric(str(_point(pair)["metric"])).lower_is_better if wins is None else wins == "low"
    return -1.0 if low else 1.0


def _point(pair: tuple[Member, Member]) -> Coords:
    return next(x for x in pair if isinstance(x, dict))
