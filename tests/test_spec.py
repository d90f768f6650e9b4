"""A run's settings and its identity."""

import pytest

from fedbench.base import registry
from fedbench.spec import RunSpec, numerics_versions


def test_identity_ignores_what_is_written_but_not_changed():
    plain = RunSpec()
    assert plain.id == RunSpec(lr=0.1, clients=10, dataset="digits", seed=0).id
    assert plain.id == RunSpec(dataset={"digits": {}}, parts=()).id
    assert (
        RunSpec(parts=["mfl"]).id
        == RunSpec(parts=[{"mfl": {"beta": 0.9, "buffer": "aggregated"}}]).id
    )


def test_identity_does_not_tell_1_from_1_0_nor_the_order_of_parameters():
    one = RunSpec(partition={"dr": {"alpha": 1}}, parts=[{"mfl": {"beta": 0.9, "inherit": 0.1}}])
    two = RunSpec(partition={"dr": {"alpha": 1.0}}, parts=[{"mfl": {"inherit": 0.1, "beta": 0.9}}])
    assert one.id == two.id


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"data_seed": 1},
        {"lr": 0.2},
        {"rounds": 11},
        {"parts": ["fedprox"]},
        {"parts": [{"fedprox": {"mu": 0.02}}]},
        {"partition": {"dr": {"alpha": 0.5}}},
        {"weights": "samples"},
        {"precision": "float64"},
    ],
)
def test_identity_tells_any_other_setting(change):
    assert RunSpec(**change).id != RunSpec().id


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"crop": 0, "flip": 0.0}, None),
        ({"crop": 4, "crop_share": 0.0, "flip": 0}, None),
        ({"crop_share": 0.3}, {}),
        ({"crop": 4, "crop_share": 0}, {"flip": 0.5}),
    ],
)
def test_views_that_are_the_same_have_one_identity(one, other):
    assert RunSpec(augment=one) == RunSpec(augment=other)
    assert RunSpec(augment=one).id == RunSpec(augment=other).id
    assert RunSpec(augment={"crop": 4, "crop_share": 0.3}).augment.crop_share == 0.3


def test_a_searchs_share_has_no_effect_on_the_test_set(refuses):
    with refuses(r"share = 0\.2 has no effect with on = 'test'"):
        RunSpec(tune={"grid": {"lr": [0.1]}, "on": "test", "share": 0.2})
    RunSpec(tune={"grid": {"lr": [0.1]}, "on": "test", "share": 0.1})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"betas": (0.5, 0.9)}, r"betas = .* no effect with optimizer 'sgd' and momentum = 0"),
        ({"eps": 1e-3}, r"eps = 0\.001 has no effect"),
        ({"dampening": 0.5}, r"dampening = 0\.5 has no effect .* momentum = 0"),
        ({"optimizer": "adam", "momentum": 0.9}, r"momentum = 0\.9 has no effect .* 'adam'"),
        ({"optimizer": "adam", "dampening": 0.9}, r"dampening = 0\.9 has no effect"),
    ],
)
def test_a_setting_without_effect_is_refused_as_it_would_make_another_run(refuses, settings, words):
    with refuses(words):
        RunSpec(**settings)


def test_a_changed_method_has_new_runs_only_where_the_change_is_used():
    lenet = {"parts": ["scaffold"], "model": "lenet5"}
    searched = RunSpec(**lenet, tune={"grid": {"momentum": [0, 0.9]}})
    assert "newer" not in RunSpec(**lenet).settings()
    assert "newer" not in RunSpec(model="lenet5", momentum=0.9).settings()
    for spec in (RunSpec(**lenet, momentum=0.9), searched):
        assert spec.settings()["newer"] == {"method scaffold": 4}


def test_a_changed_setting_or_parameter_has_new_runs_of_its_own(monkeypatch):
    def ids():
        default = RunSpec(parts=[{"fedprox": {"mu": 0.01}}])  # as written in the class
        large = RunSpec(parts=[{"fedprox": {"mu": 1}}])
        return [spec.id for spec in (RunSpec(), RunSpec(clip=1.0), default, large)]

    before = ids()
    monkeypatch.setitem(numerics_versions.SETTINGS, "clip", 4)
    constants = registry.find("method", "fedprox").constants
    monkeypatch.setitem(constants, "numerics", {"mu": 5})
    assert [a == b for a, b in zip(before, ids(), strict=True)] == [True, False, True, False]
    monkeypatch.setitem(constants, "numerics", {"iid": 4})  # the partition, by default
    assert [a == b for a, b in zip(before, ids(), strict=True)] == [True, False, False, False]
    monkeypatch.setitem(constants, "numerics", {numerics_versions.ALWAYS: 4})
    assert [a == b for a, b in zip(before, ids(), strict=True)] == [True, False, False, False]


@pytest.mark.parametrize("kind", registry.KINDS)
def test_versions_name_a_setting_or_a_parameter_and_are_above_the_engines(kind):
    components = {name for each in registry.KINDS for name in registry.entries(each)}
    for entry in registry.entries(kind).values():
        allowed = {*components, numerics_versions.ALWAYS, *RunSpec.model_fields, *entry.fields}
        for name, version in entry.constants.get("numerics", {}).items():
            assert name in allowed, entry.name
            assert version > numerics_versions.NUMERICS, entry.name


def test_the_order_of_parts_counts():
    parts = ["fedprox", "mfl"]
    assert RunSpec(parts=parts).id != RunSpec(parts=parts[::-1]).id


def test_the_slug_is_readable():
    spec = RunSpec(model="lenet5", partition={"dr": {"alpha": 0.1}}, parts=["rmfl"], seed=3)
    assert spec.id.startswith("digits-lenet5-dr-rmfl-s3-")
    assert RunSpec().id.startswith("digits-mlp-iid-fedavg-s0-")


def test_changed_reaches_into_a_part(refuses):
    spec = RunSpec(parts=[{"fedprox": {"mu": 0.1}}, "mfl"])
    assert spec.changed(**{"fedprox.mu": 0.5, "lr": 0.2}) == RunSpec(
        parts=[{"fedprox": {"mu": 0.5}}, "mfl"], lr=0.2
    )
    with refuses(r"'rmfl\.beta' names no part of this run, only \['fedprox', 'mfl'\]"):
        spec.changed(**{"rmfl.beta": 0.5})


def test_a_named_method_brings_its_settings_to_a_changed_run_too():
    assert RunSpec(rounds=2).changed(parts=["FedGKD+"]).projection == 256


def test_fedavg_is_said_to_have_no_parts(refuses):
    with refuses(r"'slowmo\.beta' names no part of this run, which is FedAvg and has no parts"):
        RunSpec().changed(**{"slowmo.beta": 0.5})
    with refuses("'slowmo.beta' names no part of the run, which is FedAvg and has no parts"):
        RunSpec(tune={"grid": {"slowmo.beta": [0.1, 0.5]}})


def test_a_spec_survives_being_written_down():
    spec = RunSpec(parts=[{"fedprox": {"mu": 0.1}}], tune={"grid": {"lr": [0.1, 1]}}, batch=None)
    assert RunSpec(**spec.model_dump(mode="json")) == spec
    assert RunSpec(**spec.model_dump(mode="json")).id == spec.id


def test_defaults_of_local_work_and_data_seed():
    assert RunSpec().local_epochs == 1
    assert RunSpec(steps=3).local_epochs is None
    assert RunSpec(seed=4).partition_seed == 4
    assert RunSpec(seed=4, data_seed=0).partition_seed == 0
    assert RunSpec(seed=4, data_seed=4).id == RunSpec(seed=4).id  # the same run
    assert RunSpec(seed=4, data_seed=0).id != RunSpec(seed=4).id
    tuned = RunSpec(seed=4, tune={"grid": {"lr": [1, 2]}, "seeds": [5]})  # whose trials differ
    assert tuned.changed(data_seed=4).id != tuned.id


def test_settings_without_effect_give_the_same_run():
    assert RunSpec(decay_norms=False).id == RunSpec().id  # nothing decays
    decays = RunSpec(weight_decay=0.1)
    assert decays.changed(decay_norms=False).id != decays.id
    searched = RunSpec(tune={"grid": {"weight_decay": [0.0, 0.1]}})
    assert searched.changed(decay_norms=False).id != searched.id  # the winner may decay


@pytest.mark.parametrize("value", [0, False, [], "", 0.0, 54, ["mu"]])
def test_only_null_is_no_parameters(refuses, value):
    with refuses(r"fedprox.*is no mapping of parameters"):
        RunSpec(parts=[{"fedprox": value}])
    with refuses(r"dr.*is no mapping of parameters"):
        RunSpec(partition={"dr": value})
    assert RunSpec(parts=[{"fedprox": None}]).parts[0].params == {}


def test_a_named_method_stands_for_its_parts_and_brings_the_settings_it_needs():
    parts = [{"fedadc": {"variant": "red"}}, "selfconfidence", "asd"]
    assert RunSpec(parts=["FedADC+", "asd"]) == RunSpec(parts=parts)
    assert RunSpec(parts=["FedAvg"]) == RunSpec()
    assert RunSpec(parts=["Moon"]) == RunSpec(parts=["moon"], projection=256)
    assert RunSpec(parts=["MOON"], projection=8).projection == 8
    assert RunSpec(parts=["moon"]).projection is None  # the part, not the method
    assert RunSpec().changed(parts=["FedADC+"]).parts[1].name == "selfconfidence"


def test_parameters_may_follow_a_name(refuses):
    spec = RunSpec(partition="dl:alpha=0.1,group=5", parts=["fedprox:mu=1"], model="mlp:hidden=8")
    assert spec.partition.params == {"alpha": 0.1, "group": 5}
    assert spec == RunSpec(
        partition={"dl": {"alpha": 0.1, "group": 5}},
        parts=[{"fedprox": {"mu": 1}}],
        model={"mlp": {"hidden": 8}},
    )
    with refuses("dl has no parameter 'alfa'|'alfa'"):
        RunSpec(partition="dl:alfa=0.1")
    with refuses("a setting is written key=value"):
        RunSpec(partition="dl:0.1")


def test_a_misspelt_method_is_told_from_a_part(refuses):
    with refuses("no method 'FedADCC'; did you mean 'FedADC'"):
        RunSpec(parts=["FedADCC"])
