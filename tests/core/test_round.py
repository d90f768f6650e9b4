"""What a round and a turn refuse to tell before it is known."""

from dataclasses import dataclass

import pytest
import torch

from fedbench import FedbenchError, Part
from tests.methods.one_weight import train
from tests.methods.server_side import Server, federation


@pytest.mark.parametrize("hook", ["begin", "end"])
def test_the_full_gradient_is_there_in_ask_alone(hook):
    @dataclass(frozen=True)
    class Late(Part):
        def ask(self, w, t):
            t.full_gradient(w)
            return {}

    def late(self, value, t):
        return value + t.full_gradient(value)

    setattr(Late, hook, late)
    with pytest.raises(FedbenchError, match="full_gradient can be called in the hook `ask` only"):
        train([[0.0]], parts=[Late()])


@pytest.mark.parametrize(
    ("field", "hook"),
    [
        ("models", "weigh"),
        ("raw", "weigh"),
        ("uploads", "weigh"),
        ("statistics", "weigh"),
        ("i", "receive"),
        ("new", "evaluate"),
    ],
)
def test_a_field_that_is_read_too_early_names_itself_and_the_hook(field, hook):
    r = Server(Part(), federation(2, 1)).open()
    with pytest.raises(FedbenchError, match=rf"Round.{field} has no value yet: .* `{hook}`"):
        getattr(r, field)


@pytest.mark.parametrize(
    ("hook", "field"), [("send", "steps"), ("step", "i"), ("step", "new"), ("send", "models")]
)
def test_a_run_stops_where_a_part_reads_too_early(hook, field):
    @dataclass(frozen=True)
    class Early(Part):
        def send(self, r):
            return {"x": torch.as_tensor(getattr(r, field))} if hook == "send" else {}

        def step(self, d, r):
            return d + getattr(r, field) if hook == "step" else d

    with pytest.raises(FedbenchError, match=f"Round.{field} has no value yet"):
        train([[0.0]], parts=[Early()])


def test_the_trained_model_is_there_at_the_end():
    @dataclass(frozen=True)
    class Early(Part):
        def begin(self, w, t):
            return t.y.w

    with pytest.raises(FedbenchError, match=r"Turn.y has no value yet: .* `end`"):
        train([[0.0]], parts=[Early()])


def test_steps_are_there_when_the_server_answers():
    seen = []

    @dataclass(frozen=True)
    class Counts(Part):
        def ask(self, w, t):
            return {}

        def answer(self, asks, p, r):
            seen.append(r.steps.tolist())
            return {}

    train([[0.0], [0.0] * 3], parts=[Counts()], batch=1)
    assert seen == [[1.0, 3.0]]


def test_an_unknown_field_is_an_attribute_error():
    r = Server(Part(), federation(2, 1)).open()
    assert not hasattr(r, "cohort")


def test_the_cohort_mean_leaves_the_mixing_weights_out():
    # models 1 and 3 with weights ¾ and ¼: the plain mean is 2, the mixed one 1.5
    r = Server(Part(), federation(2, 1)).open(p=[0.75, 0.25])
    r.models = torch.tensor([[1.0], [3.0]], dtype=torch.float64)
    assert r.cohort_mean().tolist() == [2.0]
