"""Settings as flat columns."""

from fedbench import RunSpec
from fedbench.store.flat_settings import setting_columns


def test_choices_have_a_column_of_words_and_one_for_each_parameter():
    spec = RunSpec(
        dataset="toy",
        partition={"dp": {"delta": 0.1}},
        parts=[{"fedprox": {"mu": 0.01}}, "fedsam"],
        augment={"crop": 4},
        watch=[{"spectrum": {"samples": 100}}],
        shift=[{"noise": {"level": 0.5}}],
    )
    columns = setting_columns(spec.model_dump(mode="json"))
    assert columns["dataset"] == "toy"
    assert (columns["partition"], columns["partition.delta"]) == ("dp(delta=0.1)", 0.1)
    assert (columns["parts"], columns["fedprox.mu"]) == ("fedprox(mu=0.01) + fedsam", 0.01)
    assert columns["augment.crop"] == 4
    assert "augment" not in columns
    assert (columns["watch"], columns["watch.spectrum.samples"]) == ("spectrum(samples=100)", 100)
    assert (columns["shift"], columns["shift.noise.level"]) == ("noise(level=0.5)", 0.5)
    assert (columns["clip"], columns["betas"], columns["lr"]) == (None, "[0.9, 0.999]", 0.1)
    assert "tune" not in columns
