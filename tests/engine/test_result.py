"""What a result shows when it is printed."""

from fedbench import Machine, RunSpec, Training
from fedbench.engine.assemble import assemble
from tests.methods.one_weight import train


def test_a_result_is_printed_in_one_line():
    # w = 4, target 2, lr 0.1: the model ends at 3.8, so the loss is ½ · 1.8² = 1.62
    text = repr(train([[2.0]], w=4.0))
    assert "\n" not in text
    assert text.startswith("Result(")
    assert text.endswith("finished after 1 rounds, loss 1.62)")


def test_a_training_says_how_far_it_is():
    spec, machine = RunSpec(clients=2, rounds=3, model={"mlp": {"hidden": 2}}), Machine("cpu", 1)
    training = Training(assemble(spec, {}, machine, None), machine)
    training.round()
    assert repr(training) == f"Training({spec.id}, 1 of 3 rounds made)"


def test_a_spec_prints_what_differs_from_the_defaults():
    spec = RunSpec(rounds=3, parts=[{"fedprox": {"mu": 0.1}}], lr=0.1)
    assert repr(spec) == "RunSpec(parts=({'fedprox': {'mu': 0.1}},), rounds=3)"
    assert repr(RunSpec()) == "RunSpec()"
