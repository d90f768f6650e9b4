"""How files spell a name with parameters, the checksum of a package, and types in words."""

import pytest

from fedbench.base.checks import allowed
from fedbench.base.checksums import version_of
from fedbench.spec.choice import Choice


@pytest.mark.parametrize(
    "spelled", ["mfl", {"mfl": {}}, {"mfl": None}, {"name": "mfl"}, {"name": "mfl", "params": None}]
)
def test_no_parameters_are_spelled_in_five_ways(spelled):
    assert Choice.model_validate(spelled) == Choice(name="mfl")


def test_the_version_of_a_package_changes_with_each_of_its_files(tmp_path):
    (tmp_path / "a.py").write_text("1")
    (tmp_path / "__pycache__").mkdir()
    first = version_of(tmp_path)
    (tmp_path / "__pycache__" / "a.pyc").write_text("compiled")
    assert version_of(tmp_path) == first
    (tmp_path / "a.py").write_text("2")
    second = version_of(tmp_path)
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert len({first, second, version_of(tmp_path)}) == 3


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (list, "a list"),
        (list[float], "a list"),
        (dict, "a mapping"),
        (dict | None, "a mapping or null"),
    ],
)
def test_types_of_python_are_told_in_words(hint, words):
    assert allowed(hint) == words
