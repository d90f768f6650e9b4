"""The Python that the workflow's rules call, and the conda environment that may hold it.

`snakemake --sdm conda` makes the environment from environment.yml. Snakemake copies that file into
a folder of its own before conda reads it, so that relative paths in it would lead nowhere; and
where fedbench was installed from a wheel, no project lies beside it.
"""

import json
import shlex
import sys
from importlib import metadata
from pathlib import Path

from fedbench.base.files import exists, read_text, write_text

_CONSTRAINTS, _FEDBENCH = "-c constraints.txt", "-e ."  # as environment.yml writes them


def command(conda: bool) -> str:
    """What a rule calls: this Python, whichever a shell would find, or that of its environment.

    With -P a file `random.py` or `torch.py` in the working folder is not taken for the library.
    """
    return f"{'python' if conda else shlex.quote(sys.executable)} -P -m fedbench"


def write_environment(file: Path, copy: Path) -> str:
    """Write environment.yml as it holds in any folder; returns the path of the copy, absolute.

    Snakemake makes environments before it starts a job, so that no rule can write the file.
    """
    text = environment(file.resolve())
    if not exists(copy) or read_text(copy) != text:
        write_text(copy, text)
    return str(copy.resolve())


def environment(file: Path) -> str:
    """The text of environment.yml with paths from the root, and with the fedbench that runs here.

    `file` is an absolute path; `constraints.txt` lies beside it.
    """
    constraints = f"-c {shlex.quote(str(file.with_name('constraints.txt')))}"
    changes = {_CONSTRAINTS: constraints, _FEDBENCH: _fedbench(file.parent)}
    text = read_text(file)
    for written, instead in changes.items():
        text = text.replace(f"- {written}\n", f"- {json.dumps(instead)}\n")
    return text


def _fedbench(project: Path) -> str:
    """What pip is told in order to install it: the checkout, or where it was installed from."""
    if (project / "pyproject.toml").is_file():
        return f"-e {shlex.quote(str(project))}"
    (name, *_) = metadata.packages_distributions()["fedbench"]
    distribution = metadata.distribution(name)
    return installed_from(name, distribution.version, distribution.read_text("direct_url.json"))


def installed_from(name: str, version: str, record: str | None) -> str:
    """The requirement that installs fedbench again, from pip's record of where it came from.

    name: what its distribution is called, which is not the name that is imported.

    There is no record of a version that came from a package index.
    """
    if not record:
        return f"{name}=={version}"
    origin = json.loads(record)
    source = origin.get("vcs_info")
    if source:
        return f"{name} @ {source['vcs']}+{origin['url']}@{source['commit_id']}"
    return f"{name} @ {origin['url']}"
