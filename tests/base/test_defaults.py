"""A parameter that is written at its default does not make another run."""

import pytest

from fedbench import RunSpec


@pytest.mark.parametrize(
    ("field", "written", "plain"),
    [
        ("parts", [{"fedadc": {"divisor": None}}], ["fedadc"]),  # None is that default
        ("parts", [{"fedadc": {"beta": 0.9, "alpha": 1}}], ["fedadc"]),  # of 0.9 and 1.0
        ("model", {"rn18": {"side": None}}, "rn18"),
        ("watch", [{"dissimilarity": {"lams": [0, 1, 5, 10, 20, 30, 40, 50]}}], ["dissimilarity"]),
    ],
)
def test_what_is_written_at_its_default_is_the_same_run(field, written, plain):
    assert RunSpec(**{field: written}).id == RunSpec(**{field: plain}).id


def test_null_where_the_default_is_a_value_is_another_run():
    assert RunSpec(parts=[{"fedadc": {"beta": None}}]).id != RunSpec(parts=["fedadc"]).id
