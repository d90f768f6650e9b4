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


def command(conda: bool) -> str:
    """What a rule calls: this Python, whichever a shell would find, or that of its environment.

    With -P a file `random.py` or `torch.py` in the working folder is not taken for the library.
    """
    return f"{'python' if conda else shlex.quote(sys.executable)} -P -m fedbench"


def write_environment(file: Path, copy: Path) -> str:
    """Write environment.yml as it holds in any folder; returns the path of the copy, absolute.

    Paths in it, such as that of the `constraints.txt` beside `file`, begin at the root, and it has
    the fedbench that runs here: the checkout, or what pip needs to install it again. Snakemake
    makes environments before it starts a job, so that no rule can write the file.
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
    """The requirement that installs fedbench again, from pip's record of where it came from.

    name: what its distribution is called, which is not the name that is imported. There is no
    record of a version that came from a package index.
    """
    if not record:
        return f"{name}=={version}"
    origin = json.loads(record)
    source = origin.get("vcs_info")
    if source:
        return f"{name} @ {source['vcs']}+{origin['url']}@{source['commit_id']}"
    return f"{name} @ {origin['url']}"
