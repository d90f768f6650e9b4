"""The settings that a run was trained with, from what its record says."""

from typing import Any

from fedbench.plan.search import as_trained

TUNE = {"grid": {"lr": [0.3, 0.03], "batch": [50, 10], "fedprox.mu": [1.0, 0.01]}}
FILE = {"parts": ["asd", {"fedprox": {"pull": "gradient"}}], "lr": 0.03, "tune": TUNE}


def resolved(lr: float, batch: int, mu: float) -> dict[str, Any]:
    parts = ["asd", {"fedprox": {"pull": "gradient", "mu": mu}}]
    return {"parts": parts, "lr": lr, "batch": batch, "rounds": 10}


def test_what_a_search_chose_is_in_the_place_of_the_files_value() -> None:
    settings, remarks = as_trained(FILE, resolved(0.3, 50, 1.0))
    assert settings["lr"] == 0.3
    assert settings["parts"] == ["asd", {"fedprox": {"pull": "gradient", "mu": 1.0}}]
    assert (settings["batch"], settings["fedprox.mu"]) == (50, 1.0)
    assert "rounds" not in settings  # a default, and not searched
    assert remarks == {
        "lr": "chosen by the search; 0.03 in the file",
        "batch": "chosen by the search, as in the file",  # 50 is the default
        "fedprox.mu": "chosen by the search; 0.01 in the file",  # and so is this
    }


def test_a_run_without_a_search_has_the_settings_of_its_file() -> None:
    file = {"parts": ["fedavgm", {"asd": {"lam": 5}}], "lr": 0.1}
    assert as_trained(file, {"lr": 0.1}) == (file, {})
    assert as_trained({}, {}) == ({}, {})
