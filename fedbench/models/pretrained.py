"""Reads published weights from a safetensors file, and compares their names and shapes."""

from collections.abc import Mapping
from pathlib import Path

from safetensors.torch import load_file
from torch import Tensor

from fedbench.base.errors import FedbenchError, failing
from fedbench.base.files import exists


def read_checkpoint(
    file: Path, prefix: str, wanted: Mapping[str, Tensor], besides: tuple[str, ...] = ()
) -> dict[str, Tensor]:
    """The `wanted` tensors of a file, where all have a prefix, but for those named `besides`."""
    if not exists(file):
        raise FedbenchError(
            f"{file} is not there; put the published weights there (--data-dir or FEDBENCH_DATA "
            "names the data folder), or use weights = 'random'"
        )
    remedy = "put a sound one in its place, or use weights = 'random'"
    with failing(f"{file}: not a readable safetensors file", remedy):
        whole = load_file(file)
    own = [name for name in whole if name.startswith(prefix) and not name.startswith(besides)]
    tensors = {name.removeprefix(prefix): whole[name] for name in own}
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    needed = {name: tuple(tensor.shape) for name, tensor in wanted.items()}
    differ = sorted({name for name, _ in shapes.items() ^ needed.items()})
    if differ:
        found, asked = (each.get(differ[0], "missing") for each in (shapes, needed))
        raise FedbenchError(
            f"{file}: the shape of {prefix}{differ[0]} is {found} in the file and {asked} in the "
            f"model of this run, and {len(differ) - 1} other tensors differ; use the checkpoint's "
            "sizes and vocabulary, or weights = 'random'"
        )
    return tensors
