"""The house's own files agree with each other."""

import ast
import sys
import tomllib
from importlib import metadata

import pytest
import yaml

from fedbench.base import registry as extras_of_fedbench
from tests.project import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PACKAGES = {
    "fontTools": "fonttools",
    "PIL": "pillow",
    "yaml": "pyyaml",
    "sklearn": "scikit-learn",
    "annotated_types": "annotated-types",
    "curvlinops": "curvlinops-for-pytorch",
    "scikit_posthocs": "scikit-posthocs",
    "typing_extensions": "typing-extensions",
}  # import name → package


DEPENDENCIES = PROJECT["dependencies"]
EXTRAS = {extra: PROJECT["optional-dependencies"][extra] for extra in extras_of_fedbench.PACKAGES}
OPTIONAL = [requirement for extra in EXTRAS.values() for requirement in extra]


def name_of(requirement):
    return requirement.replace(">", "=").split("=")[0].lower()


def test_environment_names_the_same_packages_and_bounds():
    listed = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    (pip,) = (item["pip"] for item in listed if isinstance(item, dict))
    options = ["-c constraints.txt", "-e ."]
    assert [item for item in pip if item.startswith("-")] == options
    assert sorted(item for item in pip if item not in options) == sorted(DEPENDENCIES + OPTIONAL)
    assert f"python{PROJECT['requires-python']}" in listed


def test_every_import_is_a_declared_dependency():
    declared = {name_of(requirement) for requirement in DEPENDENCIES + OPTIONAL}
    found = set()
    for file in (ROOT / "fedbench").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(node.module.split(".")[0])
    foreign = found - set(sys.stdlib_module_names) - {"fedbench"}
    assert {PACKAGES.get(name, name) for name in foreign} <= declared


def test_packages_of_extras_are_those_of_the_project_and_imported_inside_functions_alone():
    for extra, packages in extras_of_fedbench.PACKAGES.items():
        names = [PACKAGES.get(package, package) for package in packages]
        assert names == [name_of(requirement) for requirement in EXTRAS[extra]]
    optional = {
        package for packages in extras_of_fedbench.PACKAGES.values() for package in packages
    }
    for file in (ROOT / "fedbench").rglob("*.py"):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] not in optional, file
            elif isinstance(node, ast.Import):
                assert not {alias.name.split(".")[0] for alias in node.names} & optional, file


def test_constraints_pin_every_dependency_and_name_no_address():
    text = (ROOT / "constraints.txt").read_text()
    pinned = {line.split("==")[0] for line in text.splitlines() if "==" in line}
    extras = PROJECT["optional-dependencies"].values()
    asked = [*PROJECT["dependencies"], *(item for extra in extras for item in extra)]
    assert {name_of(requirement) for requirement in asked} <= pinned
    assert "//" not in text


@pytest.mark.parametrize("name", ["torch", "pandas", "pydantic"])
def test_the_installed_version_is_the_one_in_the_constraints(name):
    # where a machine brings its own build of torch, its local label is not compared
    pinned = dict(
        line.split(";")[0].strip().split("==")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    )
    assert metadata.version(name).split("+")[0] == pinned[name]


def test_the_readme_opens_with_the_two_commands_and_ci_calls_the_second():
    readme = (ROOT / "README.md").read_text()
    lines = [line for line in readme.splitlines() if line.startswith("pip install")]
    needed = [extra for extra in extras_of_fedbench.PACKAGES if extra != "huggingface"]
    extras = ",".join(needed)  # by the papers and the tests
    install = "pip install -c constraints.txt -e "
    assert lines[0] == f"{install}'.[{extras}]' && snakemake --cores all reproduce_tables"
    assert lines[1] == f"{install}'.[test,{extras}]' && pytest"
    assert "README.md" in (ROOT / ".ci/run").read_text()
