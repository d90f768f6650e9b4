"""Settings typed on a command line."""

import pytest

from fedbench.base.errors import unknown
from fedbench.base.yamlfile import parse


def test_values_are_spelled_as_in_yaml():
    pairs = ["alpha=1e-4", "s=2", "stratified=true", "flavour=fedadc", "grid=[1, 2.5]", " k = a=b "]
    assert parse(pairs) == {
        **{"alpha": 1e-4, "s": 2, "stratified": True, "flavour": "fedadc", "grid": [1, 2.5]},
        "k": "a=b",
    }
    assert parse([]) == {}
    assert parse(["clip=", "lr=null"]) == {"clip": None, "lr": None}


@pytest.mark.parametrize(
    ("name", "meant"),
    [("FedCMM", "FedCM"), ("fedcmm", "fedcm"), ("learning_rate", "lr"), ("C", "participation")],
)
def test_a_name_that_is_unknown_is_guessed(name, meant):
    allowed = ("FedCM", "fedcm", "lr", "lr_decay", "projection", "participation")
    assert str(unknown("name", name, allowed)) == f"no name '{name}'; did you mean '{meant}'?"


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (["alpha"], "'alpha': a setting is written key=value"),
        (["=3"], "'=3': a setting is written key=value"),
        (["a=1", "b=1", "a=2"], "'a=2': 'a' is given twice"),
        (["a=[1"], "'[1': not valid YAML"),
        (["a=!!python/name:os.system"], "not valid YAML"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(refuses, pairs, words):
    with refuses() as caught:
        parse(pairs)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
