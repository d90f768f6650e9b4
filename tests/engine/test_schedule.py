"""Learning rates that fall by a cosine or by steps."""

import math

import pytest

from fedbench import FedbenchError, Machine, RunSpec, run

CPU = Machine(device="cpu", workers=1)


def rates(schedule, **settings):
    spec = RunSpec(rounds=4, lr=0.8, clients=2, schedule=schedule, **settings)
    return run(spec, machine=CPU).history["eta"].tolist()


def test_half_a_cosine_by_hand():
    shares = [1, (1 + math.sqrt(0.5)) / 2, 0.5, (1 - math.sqrt(0.5)) / 2]
    assert rates({"kind": "cosine"}) == pytest.approx([0.8 * s for s in shares])
    kept = [0.1 + 0.9 * s for s in shares]
    assert rates({"kind": "cosine", "least": 0.1}) == pytest.approx([0.8 * s for s in kept])


def test_steps_by_hand_and_beside_lr_decay():
    schedule = {"kind": "step", "at": [1, 3], "factor": 0.5}
    assert rates(schedule) == pytest.approx([0.8, 0.4, 0.4, 0.2])
    decayed = [0.8, 0.4 * 0.9, 0.4 * 0.81, 0.2 * 0.729]
    assert rates(schedule, lr_decay=0.9) == pytest.approx(decayed)


def test_no_schedule_is_the_default_and_keeps_the_identity():
    assert "schedule" not in RunSpec().settings()
    assert RunSpec(schedule={"kind": "cosine"}).id != RunSpec().id


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        ({"kind": "step"}, "needs `at`"),
        ({"kind": "cosine", "at": [3]}, "no effect"),
        ({"kind": "linear"}, "cosine.*step"),
    ],
)
def test_what_has_no_effect_is_refused(schedule, said):
    with pytest.raises(FedbenchError, match=said):
        RunSpec(schedule=schedule)
