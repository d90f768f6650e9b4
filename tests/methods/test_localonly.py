"""Local only: clients go on alone, worked by hand."""

import pytest
import torch

from fedbench.methods.localonly import LocalOnly
from tests.methods.one_weight import close, train
from tests.methods.recording import progress

EXTRA = []
NEUTRAL = []


def test_each_client_trains_as_if_there_were_no_other():
    # targets 0 and 4 from w = 1, lr 0.1, two rounds of two steps: a + (1 − a) · 0.9⁴
    state = progress([[0.0], [4.0]], 1.0, [LocalOnly()], steps=2, rounds=2)
    own = [state.clients[i][0]["own"] for i in range(2)]
    assert close(own[0], 0.9**4)
    assert close(own[1], 4 - 3 * 0.9**4)
    assert close(state.global_model.w, 1.0)


def test_a_client_that_is_not_drawn_stays_where_it_was():
    state = progress([[0.0], [4.0]], 1.0, [LocalOnly()], rounds=3, participation=0.5)
    steps = [round(float(torch.log(x / y) / torch.log(torch.tensor(0.9)))) for x, y in [
        (state.clients[0][0]["own"] if 0 in state.clients else torch.tensor(1.0), 1.0),
        ((4 - state.clients[1][0]["own"]) if 1 in state.clients else torch.tensor(3.0), 3.0),
    ]]  # fmt: skip
    assert sum(steps) == 3


def test_with_one_client_its_model_is_fedavg_s():
    rules = {"epochs": 2, "batch": 2, "rounds": 4, "weight_decay": 0.1}
    state = progress([[5.0, 7.0, 1.0]], 1.0, [LocalOnly()], **rules)
    assert float(state.clients[0][0]["own"]) == pytest.approx(
        float(train([[5.0, 7.0, 1.0]], 1.0, **rules).weights), abs=1e-12
    )
