"""fastText: its size, the mean of word vectors worked by hand, and training as every network."""

import pytest
import torch
from torch import nn

from fedbench import RunSpec, run
from fedbench.base import registry
from fedbench.base.errors import FedbenchError
from fedbench.core.flat_network import Net
from fedbench.data.dataset import Inputs
from fedbench.engine.machine import Machine
from fedbench.models.architecture import with_projection

TEXT = Inputs((5,), 3, 6)
NEWS = RunSpec(
    dataset="topics", model="fasttext", partition="dl:alpha=1.0", normalise=False,
    clients=4, participation=0.5, rounds=2, batch=10, lr=1.0,
)  # fmt: skip


def build(inputs=TEXT, **params):
    torch.manual_seed(0)
    return registry.build("model", "fasttext", params).build(inputs)


def test_its_size_is_that_of_the_vectors_and_a_classifier():
    assert sum(p.numel() for p in build().parameters()) == 10 * 6 + 10 * 3 + 3
    assert sum(p.numel() for p in build(dim=2).parameters()) == 2 * 6 + 2 * 3 + 3
    assert Net(build(dim=2)).features == 2


def test_features_are_the_mean_of_the_vectors_of_words_alone():
    model = build(dim=2)
    vectors = torch.tensor([[9.0, 9], [1, 2], [3, 4], [5, 9], [0, 0], [0, 0]])
    model.body.vectors.weight.data = vectors
    ids = torch.tensor([[1, 2, 3, 0, 0], [2, 2, 2, 2, 1], [4, 0, 0, 0, 0], [0, 0, 0, 0, 0]])
    expected = torch.tensor([[3.0, 5], [2.6, 3.6], [0, 0], [0, 0]])
    torch.testing.assert_close(model.body(ids), expected)
    torch.testing.assert_close(model(ids), model.head(expected))


def test_weights_are_drawn_between_half_and_minus_half():
    model = build(dim=1000)
    for weight in (model.body.vectors.weight, model.head.weight):
        assert weight.min().item() == pytest.approx(-0.5, abs=0.01)
        assert weight.max().item() == pytest.approx(0.5, abs=0.01)
    assert not model.head.bias.any()


def test_a_projection_has_a_hidden_layer_before_it():
    layers = [*with_projection(build(), 4, TEXT).body[1]]
    assert [type(layer) for layer in layers] == [nn.Linear, nn.ReLU, nn.Linear]


def test_images_are_refused():
    with pytest.raises(
        FedbenchError, match=r"FastText: samples of shape \(1, 8, 8\) are not texts"
    ):
        build(Inputs((1, 8, 8), 10))


@pytest.mark.parametrize("workers", [1, 2])
def test_it_learns_the_same_with_any_number_of_workers(workers):
    found = run(NEWS, machine=Machine("cpu", workers))
    alone = run(NEWS, machine=Machine("cpu", 1))
    assert found.history["accuracy"].iloc[-1] > 0.3
    assert found.history["loss"].tolist() == alone.history["loss"].tolist()
