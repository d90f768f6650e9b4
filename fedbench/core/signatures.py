"""Hooks of a part must take what the engine gives them, which is tried before any training."""

import inspect
from pathlib import Path

from fedbench.base.errors import FedbenchError
from fedbench.base.plugins import nearby
from fedbench.core.part import Part, overriding


def refuse_signatures(part: Part) -> None:
    """Raise `FedbenchError` if a hook cannot be called with the arguments that it is given.

    The engine gives them by their places, so that other names, defaults and `*args` are allowed.
    """
    for hook, plain in vars(Part).items():
        if hook.startswith("_") or not inspect.isfunction(plain) or not overriding([part], hook):
            continue
        _, *given = inspect.signature(plain).parameters
        try:
            taken = inspect.signature(getattr(part, hook))
        except (TypeError, ValueError):  # no function of Python's: what it takes is unknown
            continue
        try:
            taken.bind(*given)
        except TypeError:
            raise FedbenchError(
                f"{_place(part)}.{hook} must take ({', '.join(given)}), not {_untyped(taken)}"
            ) from None


def _untyped(signature: inspect.Signature) -> str:
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=signature.empty))


def _place(part: Part) -> str:
    """The class and its file, if it has one."""
    cls = type(part)
    try:
        file = f"{nearby(Path(inspect.getfile(cls)))}: "
    except (TypeError, OSError):  # typed at a prompt
        file = ""
    return f"{file}{cls.__name__}"
