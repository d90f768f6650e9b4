"""Reads published weights from a safetensors file, and compares their names and shapes."""

from collections.abc import Mapping
from pathlib import Path

from safetensors.torch import load_file
from torch import Tensor

from fedbench.base.errors import FedbenchError, short
from fedbench.base.files import exists


def read_checkpoint(
    file: Path, prefix: str, wanted: Mapping[str, Tensor], besides: tuple[str, ...] = ()
) -> dict[str, Tensor]:
    """The tensors whose names begin with `prefix`, by the rest of their names.

    They must have exactly the names and shapes of those `wanted`. Names that begin with one of
    `besides` are ignored, such as a classifier for other classes. Raises `FedbenchError` if the
    file is missing or broken, or if a name or a shape differs.
    """
    if not exists(file):
        raise FedbenchError(
            f"{file} is not there; put the published weights there (--data-dir or FEDBENCH_DATA "
            "names the data folder), or use weights = 'random'"
        )
    try:
        whole = load_file(file)
    except Exception as error:  # the library and the disk raise exceptions of many kinds
        raise FedbenchError(
            f"{file}: not a readable safetensors file ({short(error)}); put a sound one in its "
            "place, or use weights = 'random'"
        ) from error
    own = [name for name in whole if name.startswith(prefix) and not name.startswith(besides)]
    tensors = {name.removeprefix(prefix): whole[name] for name in own}
    lacking, more = wanted.keys() - tensors.keys(), tensors.keys() - wanted.keys()
    for kind, names in (("lacks", lacking), ("has, unlike the model,", more)):
        if names:
            raise FedbenchError(
                f"{file}: {kind} {sorted(names)[0]} and {len(names) - 1} other tensors; use the "
                "checkpoint's sizes, or weights = 'random'"
            )
    for name, found in tensors.items():
        if found.shape != wanted[name].shape:
            raise FedbenchError(
                f"{file}: {prefix}{name} has shape {tuple(found.shape)}, but the model of this run "
                f"needs {tuple(wanted[name].shape)}; use the checkpoint's sizes and vocabulary, or "
                "weights = 'random'"
            )
    return tensors
