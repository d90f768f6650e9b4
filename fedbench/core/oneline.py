"""What an object of a running training shows in a REPL: a line, not its tensors."""

from typing import Any

from torch import Tensor


class OneLine:
    """Prints plain values as they are and tensors by their shape; leaves out everything else."""

    def __repr__(self) -> str:
        shown = ((name, _text(value)) for name, value in vars(self).items())
        return f"{type(self).__name__}({', '.join(f'{n}={text}' for n, text in shown if text)})"


def _text(value: Any) -> str:
    """A value in a few characters; '' for what is left out."""
    if isinstance(value, Tensor):
        return str(tuple(value.shape))
    if isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        inner = ((name, _text(each)) for name, each in value.items())
        return ", ".join(f"{name}: {text}" for name, text in inner if text).join(("{", "}"))
    return ""
