"""What objects of a running training show when they are printed: one line without tensors."""

from dataclasses import dataclass, field

import torch

from fedbench.core.round_data import OneLine, Turn


@dataclass(repr=False)
class Sample(OneLine):
    w: torch.Tensor
    lr: float = 0.1
    name: str = "a"
    up: dict = field(default_factory=dict)
    other: object = None


def test_numbers_are_shown_and_tensors_have_their_shape():
    up = {"m": torch.zeros(2, 3), "f": print}
    text = repr(Sample(torch.zeros(10_000), up=up, other=object()))
    assert text == "Sample(w=(10000,), lr=0.1, name='a', up={m: (2, 3)})"


def test_a_turn_is_printed_before_its_model_is_there():
    n = torch.tensor(3.0)
    turn = Turn(
        fed=None,
        w=torch.zeros(5),
        buffers={},
        lr=0.1,
        H=2,
        n=n,
        labels=n,
        weight_decay=0.0,
        round=1,
    )
    assert repr(turn).startswith("Turn(w=(5,), buffers={}, lr=0.1, H=2, n=(), labels=(), ")
