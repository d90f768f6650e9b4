"""Which parts can be combined, in which order, with which optimiser, and what they may declare."""

import inspect
from collections.abc import Sequence
from pathlib import Path

from fedbench.base import registry
from fedbench.base.checks import require_hooks
from fedbench.base.errors import FedbenchError, require_among
from fedbench.base.plugins import nearby
from fedbench.core.local_optimisers import SGD, Optimiser
from fedbench.core.part import DECISIONS, Part, overriding


def refuse_conflicts(parts: Sequence[Part]) -> None:
    """Raise `FedbenchError` with the reason if these parts cannot be combined in this order.

    Refused too are what would have no effect, as a misspelt hook, and a hook of other arguments.
    """
    names = [type(part).__name__.lower() for part in parts]
    for i, part in enumerate(parts):
        _refuse_untyped(part, names[i])
        _refuse_unknown(part, names[i])
        _refuse_signatures(part)
        if names[i] in names[:i]:
            raise FedbenchError(f"parts: '{names[i]}' is listed twice")
        _refuse_company(part, i, names)
        require_hooks(f"parts: '{names[i]}'", type(part), Part, some=not part.SETTINGS)
    _refuse_rivals(parts, names)


def _refuse_company(part: Part, i: int, names: Sequence[str]) -> None:
    me = f"'{names[i]}'"
    others = {name: part.alone for name in names if part.alone and name != names[i]}
    rules = (
        (part.excludes | others, names, f"{me} cannot stand beside '{{}}'"),
        (part.follows, names[i:], f"{me} must stand after '{{}}'"),
        (part.precedes, names[:i], f"'{{}}' must stand after {me}"),
    )
    for reasons, there, words in rules:
        for other, reason in reasons.items():
            if other in there:
                raise FedbenchError(f"parts: {words.format(other)}: {reason}")


def _refuse_unknown(part: Part, name: str) -> None:
    others = _subclasses(Part) - {type(part)}
    methods = {*registry.entries("method"), *(other.__name__.lower() for other in others)}
    for field in ("excludes", "follows", "precedes"):
        for other in getattr(part, field):
            require_among(f"parts: '{name}'.{field}", "method", other, methods)
    decisions = {*DECISIONS, *(what for other in others for what in other.decides)}
    for what in part.decides:
        require_among(f"parts: '{name}'.decides", "decision", what, decisions)


def _refuse_untyped(part: Part, name: str) -> None:
    """Raise `FedbenchError` if the class has a parameter without a type."""
    own = {k: v for k, v in vars(type(part)).items() if not (k.startswith("_") or hasattr(Part, k))}
    typed = {each for cls in type(part).__mro__ for each in vars(cls).get("__annotations__", {})}
    for key, value in own.items():
        if isinstance(value, int | float | str) and key not in typed:
            raise FedbenchError(
                f"parts: '{name}': '{key} = {value!r}' has no type, so it is no parameter; write "
                f"'{key}: {type(value).__name__} = {value!r}'"
            )


def _subclasses(cls: type[Part]) -> set[type[Part]]:
    children = set(cls.__subclasses__())
    return children.union(*(_subclasses(child) for child in children))


def _refuse_rivals(parts: Sequence[Part], names: Sequence[str]) -> None:
    deciders: dict[str, str] = {}
    for part, name in zip(parts, names, strict=True):
        for what in part.decides:
            other = deciders.setdefault(what, name)
            if other != name:
                raise FedbenchError(
                    f"parts: '{name}' cannot stand beside '{other}': both decide {what}"
                )
    for part, name in zip(parts, names, strict=True):
        rivals = dict.fromkeys(overriding(parts, "move"), "changes SGD's steps")
        for i, its in enumerate(parts):
            if its.starts_elsewhere and its is not part:
                rivals[i] = "lets clients start elsewhere than at x_t"
        for i, why in rivals.items() if part.needs_sgd else ():
            raise FedbenchError(
                f"parts: '{name}' cannot stand beside '{names[i]}': {type(part).__name__} "
                f"{part.needs_sgd}, and {type(parts[i]).__name__} {why}"
            )


def holds_for(parts: Sequence[Part]) -> str:
    """The local optimisers that the formulas of these parts hold for."""
    if any(part.own_momentum for part in parts):
        return "SGD without momentum"
    return "SGD" if any(part.needs_sgd for part in parts) else "any"


def refuse_optimiser(parts: Sequence[Part], optimiser: Optimiser) -> None:
    """Raise `FedbenchError` with the reason if a part's formulas do not hold for this optimiser."""
    for part in parts:
        name, momentum = type(part).__name__, "has its own momentum"
        if isinstance(optimiser, SGD):
            if part.own_momentum and optimiser.momentum:
                said = f"momentum = {optimiser.momentum}: {name} {momentum}; set momentum to 0"
                raise FedbenchError(said)
            for parameter, setting in part.repeats.items():
                given, used = getattr(part, parameter), getattr(optimiser, setting)
                if given not in (None, used):
                    raise FedbenchError(
                        f"{name}: {parameter} = {given} contradicts {setting} = {used} of the run; "
                        f"leave {parameter} out, it follows {setting}"
                    )
        elif part.own_momentum or part.needs_sgd:
            reason = f"{momentum}, which goes with the steps of SGD"
            if not part.own_momentum:
                reason = f"{part.needs_sgd}, and Adam's steps are no weighted sum of gradients"
            raise FedbenchError(f"optimizer = adam: {name} {reason}; set optimizer to sgd")


def refuse_missing(
    parts: Sequence[Part], classes: int, has_head: bool, projection: int | None, validation: float
) -> None:
    """Raise `FedbenchError` if a part needs something that data, model or run do not have."""
    for part in parts:
        needs = f"{type(part).__name__} needs"
        if part.needs_classes and not classes:
            raise FedbenchError(
                f"data: {needs} classes, but the labels of this data set are numbers"
            )
        if part.needs_projection and not projection:
            raise FedbenchError(f"projection: {needs} a projection head; set projection, its width")
        if part.proxy_data and not validation:
            raise FedbenchError(f"validation = 0: {needs} held-out data; set validation above 0")
        if part.needs_head and not has_head:
            raise FedbenchError(f"model: {needs} a module with children 'body' and 'head'")


def _refuse_signatures(part: Part) -> None:
    """Refuse a hook that cannot be called with what it is given, by places: names may differ."""
    hooks = [name for name, hook in vars(Part).items() if inspect.isfunction(hook)]
    for hook in (name for name in hooks if overriding([part], name)):
        _, *given = inspect.signature(getattr(Part, hook)).parameters
        try:
            taken = inspect.signature(getattr(part, hook))
        except (TypeError, ValueError):  # no function of Python's: what it takes is unknown
            continue
        try:
            taken.bind(*given)
        except TypeError:
            untyped = [p.replace(annotation=p.empty) for p in taken.parameters.values()]
            names = taken.replace(parameters=untyped, return_annotation=taken.empty)
            raise FedbenchError(
                f"{_place(type(part))}.{hook} must take ({', '.join(given)}), not {names}"
            ) from None


def _place(cls: type[Part]) -> str:
    try:
        return f"{nearby(Path(inspect.getfile(cls)))}: {cls.__name__}"
    except (TypeError, OSError):  # typed at a prompt
        return cls.__name__
