"""fedbench as others have it: its wheel, in the site-packages of a fresh environment.

`python -m tests.wheel` has mypy check tests/surface.py, a program that uses the public names,
against that environment instead of the sources.
"""

import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from pathlib import Path

from tests.project import ROOT

INSTALLED = ("Snakefile", "environment.yml", "constraints.txt")
OF_THE_BUILD = ("pyproject.toml", "setup.py", "README.md", "LICENSE")
FOLDERS = ("fedbench", "workflow", "profiles")


def install(folder: Path, hook: str = "build_wheel") -> Path:
    """A fresh environment in the folder with this checkout's wheel; gives its site-packages.

    With the hook `build_editable` it is that of `pip install -e`, of a copy called `fedbench`.

    The libraries are lent by the environment that runs the tests, whose own fedbench is not seen.
    """
    venv.create(folder / "environment", symlinks=True)
    site = next(folder.glob("environment/lib/python*/site-packages"))
    zipfile.ZipFile(build(folder, hook)).extractall(site)
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    return site


def python(site: Path) -> Path:
    """The interpreter of the environment with that site-packages."""
    return site.parents[2] / "bin/python"


def build(folder: Path, hook: str) -> Path:
    """The wheel of this checkout, made from a copy of its sources."""
    source = folder / "fedbench"
    source.mkdir()
    for name in (*INSTALLED, *OF_THE_BUILD):
        shutil.copy(ROOT / name, source)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    code = f"from setuptools import build_meta; build_meta.{hook}({str(folder)!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=source, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl"))


def typed(site: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """What mypy says of surface.py, copied to a folder where it meets no sources of fedbench."""
    shutil.copy(ROOT / "tests/surface.py", folder)
    words = ["--strict", "--config-file=", f"--python-executable={python(site)}", "surface.py"]
    command = [sys.executable, "-m", "mypy", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        checked = typed(install(Path(name)), Path(name))
    print(checked.stdout + checked.stderr, end="")
    sys.exit(checked.returncode)
