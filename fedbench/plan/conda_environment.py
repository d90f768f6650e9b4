"""The Python that the workflow's rules call, and the conda environment that may hold it."""

import json
import shlex
import sys
from importlib import metadata
from pathlib import Path

from fedbench.base.files import exists, read_text, write_text


def command(conda: bool) -> str:
    """What a rule calls: this Python, whichever a shell would find, or that of its environment.

    With -P a file `random.py` or `torch.py` in the working folder is not taken for the library.
    """
    return f"{'python' if conda else shlex.quote(sys.executable)} -P -m fedbench"


def write_environment(file: Path, copy: Path) -> str:
    """Write environment.yml with absolute paths and the fedbench that runs here; returns its path.

    Snakemake copies the file into a folder of its own, and makes environments before it starts a
    job, so that no rule can write it.
    """
    project = file.resolve().parent
    fedbench = f"-e {shlex.quote(str(project))}"
    if not (project / "pyproject.toml").is_file():
        (name, *_) = metadata.packages_distributions()["fedbench"]
        there = metadata.distribution(name)
        fedbench = installed_from(name, there.version, there.read_text("direct_url.json"))
    constraints = f"-c {shlex.quote(str(project / 'constraints.txt'))}"
    text = read_text(file)
    for written, instead in (("-c constraints.txt", constraints), ("-e .", fedbench)):
        text = text.replace(f"- {written}\n", f"- {json.dumps(instead)}\n")
    if not exists(copy) or read_text(copy) != text:
        write_text(copy, text)
    return str(copy.resolve())


def installed_from(name: str, version: str, record: str | None) -> str:
    """The requirement that installs fedbench again, from pip's record of where it came from."""
    if not record:  # it came from a package index
        return f"{name}=={version}"
    origin = json.loads(record)
    source = origin.get("vcs_info")
    if source:
        return f"{name} @ {source['vcs']}+{origin['url']}@{source['commit_id']}"
    return f"{name} @ {origin['url']}"
