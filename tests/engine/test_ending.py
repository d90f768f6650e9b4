"""Runs that end before their last round, and what they have computed by then."""

import pytest

from fedbench import Machine, RunSpec, run
from fedbench.engine.assemble import assemble
from fedbench.engine.training import Training
from fedbench.spec.fields import Stop
from fedbench.store import RunFolder
from fedbench.store.flat_settings import setting_columns
from tests.methods.one_weight import train

CPU = Machine(device="cpu", checkpoint_minutes=1e-9)
HEAD = (8 + 1) * 10  # weights of the last layer, behind a projection to 8 features
D = (64 + 1) * 128 + (128 + 1) * 128 + (128 + 1) * 8 + HEAD


@pytest.mark.parametrize(
    ("rule", "scores", "over"),
    [
        ({"target": 0.5}, [0.4, 0.49], False),
        ({"target": 0.5}, [0.6, 0.5], True),
        ({"metric": "loss", "target": 2.0}, [2.5, 2.0], True),
        ({"metric": "loss", "target": 2.0}, [2.1], False),
        ({"patience": 2}, [0.5, 0.4], False),  # one round without a better one
        ({"patience": 2}, [0.5, 0.4, 0.5], True),  # equal is not better
        ({"patience": 2}, [0.5, 0.4, 0.6], False),
        ({"metric": "loss", "patience": 1}, [1.0, 1.1], True),
        ({"target": 0.9, "patience": 1}, [0.5, 0.4], True),
        ({"patience": 1}, [], False),
        ({"metric": "loss", "patience": 2}, [float("nan"), 1.0, 1.0, 1.0], True),
    ],
)
def test_when_a_rule_ends_a_run(rule, scores, over):
    assert Stop(**rule).ends(scores) is over


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({}, "give a target, a patience or both"),
        ({"target": 45}, "target = 45: accuracy is above 0 and at most 1"),
        ({"patience": 0}, "patience = 0 is not allowed"),
        ({"patience": 3}, "stop.on = 'held-out' needs held-out data; set validation above 0"),
        ({"goal": 0.5}, "no field in Stop 'goal'"),
    ],
)
def test_a_rule_that_cannot_be_followed_is_refused(refuses, rule, words):
    with refuses(words):
        RunSpec(stop=rule)


def test_a_run_without_a_rule_keeps_its_identity():
    assert "stop" not in RunSpec().settings()
    assert RunSpec(stop={"target": 0.9, "on": "test"}).settings()["stop"] == {
        "target": 0.9,
        "on": "test",
    }


def test_rules_and_views_stand_in_a_frame_by_what_they_say():
    run = RunSpec(stop={"target": 0.9, "on": "test"}, augment={"crop": 2})
    found = setting_columns(run.model_dump(mode="json"))
    assert (found["stop.target"], found["stop.on"], found["augment.crop"]) == (0.9, "test", 2)
    assert setting_columns(RunSpec().model_dump(mode="json"))["stop"] is None


def test_a_score_that_the_data_do_not_have_is_refused(refuses):
    with refuses("stop.metric = 'accuracy' needs classes, but data set"):
        train([[0.0]], stop={"target": 0.5, "on": "test"})


def test_the_run_ends_when_its_loss_reaches_the_target():
    # test loss ½ w², w halves in every round: 2, 0.5, 0.125 …
    settings = {"w": 4.0, "lr": 0.5, "rounds": 9}
    result = train([[0.0]], stop={"metric": "loss", "target": 0.5, "on": "test"}, **settings)
    assert result.history["loss"].tolist() == pytest.approx([2.0, 0.5])
    assert (result.status, result.record["rounds"]) == ("finished", 2)
    whole = train([[0.0]], **settings)
    assert whole.history["loss"].tolist()[:2] == result.history["loss"].tolist()


STOPPED = RunSpec(
    clients=4, rounds=30, lr=0.5, batch=None, stop={"target": 0.86, "on": "test"}, eval_every=2,
    watch=["perclient"],
)  # fmt: skip


def test_a_run_that_was_killed_ends_at_the_same_round(tmp_path):
    whole = run(STOPPED, machine=CPU)
    assert 4 < whole.record["rounds"] < 30
    half = Training(assemble(STOPPED, {}, CPU, None), CPU, RunFolder(tmp_path))
    for _ in range(3):
        half.round()
    rest = run(STOPPED, out=tmp_path, machine=CPU)
    assert rest.record["rounds"] == whole.record["rounds"]
    assert rest.history["accuracy"].equals(whole.history["accuracy"])
    assert len(rest.tables["perclient"]) == 4  # written at the last round, wherever that is
    assert len(RunFolder(tmp_path).history()) == len(whole.history)


@pytest.mark.parametrize(
    ("parts", "work"),
    [
        ([], 1.0),
        (["fedsam"], 2.0),
        (["fedgkd"], 4 / 3),
        (["moon"], 5 / 3),
        (["fedgen"], 1 + HEAD / D),
    ],
)
def test_computation_counts_the_passes_that_a_method_adds(parts, work):
    # a forward pass is a third of a sample pass: FedSAM makes two of each, MOON has two teachers,
    # and FedGen passes generated features through the head, whose share is that of its weights
    spec = RunSpec(clients=2, rounds=2, epochs=3, projection=8, parts=parts)
    history = run(spec, machine=CPU).history
    samples = 1442 * 3  # digits' training samples, three epochs
    assert history["sample_passes"].tolist() == [samples, 2 * samples]
    assert history["compute"].tolist() == pytest.approx([work * samples, 2 * work * samples])
