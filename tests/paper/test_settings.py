"""The settings of the workflow: what is allowed, and what no path or size can be."""

import re

import pytest
import yaml

from fedbench.paper.workflow_config import checked_settings
from tests.project import ROOT

DEFAULTS = yaml.safe_load((ROOT / "workflow/config.yaml").read_text())


def test_the_defaults_stay_as_they_are():
    assert checked_settings(DEFAULTS) == DEFAULTS


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("workers", 4), ("gpus", 0.25), ("device", "cuda:1"), ("train", "FedAvg,FedProx")),
        *(("live", "mlflow=http://localhost:5000"), ("live", "mlflow"), ("data_dir", "a b")),
    ],
)
def test_other_values_are_allowed(name, value):
    assert checked_settings(DEFAULTS | {name: value})[name] == value


def test_a_number_may_be_written_as_text():
    assert checked_settings(DEFAULTS | {"workers": "2"})["workers"] == 2


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("batch_size", 24, "--config: batch_size is called runs_per_job now"),
        ("devise", "cpu", "--config: no field in Settings 'devise'; did you mean 'device'?"),
        ("runs_per_job", -1, "--config: runs_per_job = -1 is not allowed"),
        ("workers", 0, "--config: workers = 0 is not allowed"),
        (
            "device",
            "cpu; touch hit",
            "device: 'cpu; touch hit' is not allowed; it must be auto",
        ),
        ("device", "mps", "device: 'mps' is not allowed; it must be auto, cpu, cuda or cuda:1"),
        ("device", "xpu", "device: 'xpu' is not allowed"),
        ("results", "{paper}", "results: '{paper}' is not allowed; it must not be empty"),
        ("results", "a*", "results: 'a*' is not allowed"),
        ("reports", "", "reports: '' is not allowed"),
        ("train", "", "train: '' is not allowed; it must not be empty"),
        ("data_dir", "a{b}", "data_dir: 'a{b}' is not allowed; no { } or line break"),
        ("tracking_uri", "a\nb", "tracking_uri: "),
        ("live", "wandb", "live: 'wandb' is not allowed; it must be mlflow"),
        ("scale", "../demo", "scale = '../demo' is not allowed"),
        ("papers", ["a"], "papers = ['a'] is not allowed"),
        ("results", None, "results: '' is not allowed; it must not be empty"),
    ],
)
def test_what_no_path_device_or_size_can_be_is_refused_in_one_sentence(refuses, name, value, said):
    with refuses(re.escape(said)):
        checked_settings(DEFAULTS | {name: value})


@pytest.mark.parametrize(
    ("typed", "config"),
    [
        ({"papers": "2024"}, {"papers": 2024}),
        ({"scale": "7"}, {"scale": 7}),
        ({"results": "2024_05", "papers": "1.10"}, {"results": 202405, "papers": 1.1}),
        ({"results": "010"}, {"results": 10}),
        ({"train": "true", "reports": "1e3"}, {"train": True, "reports": 1000.0}),
    ],
)
def test_a_name_that_looks_like_a_number_is_text(typed, config):
    words = [f"{name}={text}" for name, text in typed.items()]
    assert checked_settings(DEFAULTS | config, words) == DEFAULTS | typed


def test_a_number_in_a_file_of_settings_is_text_too():
    assert checked_settings(DEFAULTS | {"papers": 2024})["papers"] == "2024"
    assert checked_settings(DEFAULTS | {"papers": None})["papers"] == ""
    # 4 cores are a number, whatever stood after --config
    assert checked_settings(DEFAULTS | {"workers": 4}, ["workers=04"])["workers"] == 4


def test_the_home_folder_is_found_in_every_path(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    paths = {"results": "~/x", "reports": "~", "data_dir": "~/d", "tracking_uri": "~/mlflow.db"}
    found = checked_settings(DEFAULTS | paths | {"live": "mlflow=~/logs"})
    assert [found[name] for name in paths] == [
        "/home/me/x", "/home/me", "/home/me/d", "/home/me/mlflow.db",
    ]  # fmt: skip
    assert found["live"] == "mlflow=/home/me/logs"
    assert checked_settings(DEFAULTS | {"results": "a~/b"})["results"] == "a~/b"
