"""Has the wheel hold the Snakefile and what it includes as the package `fedbench.project`.

`package-dir` in pyproject.toml could say so too. An editable install would then find fedbench by a
hook that Python asks last, and the folder of a clone is called `fedbench`: in the folder above it
`import fedbench` would find that one.
"""

from setuptools import setup
from setuptools.command.build_py import build_py

_PROJECT = "fedbench.project"


class BuildPy(build_py):
    """Takes the checkout itself for the folder of that package, which has no modules."""

    def get_package_dir(self, package: str) -> str:
        """The folder of a package in the sources."""
        return "." if package == _PROJECT else super().get_package_dir(package)

    def find_package_modules(self, package: str, folder: str) -> list[tuple[str, str, str]]:
        """The modules of a package: its name, that of the module, and the file of each."""
        return [] if package == _PROJECT else super().find_package_modules(package, folder)


setup(cmdclass={"build_py": BuildPy})
