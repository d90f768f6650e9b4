"""DistilBERT: counts, the mask, published weights, and training on embedded text."""

import pytest
import torch
from safetensors.torch import save_file

from fedbench import RunSpec, run
from fedbench.base import registry
from fedbench.base.errors import FedbenchError
from fedbench.core.flat_network import Net
from fedbench.data.dataset import Inputs
from fedbench.data.source import data_folder

SMALL = {"layers": 2, "heads": 2, "dim": 32, "hidden": 64, "positions": 16, "weights": "random"}
STILL = SMALL | {"dropout": 0.0, "last_dropout": 0.0}
TEXT = Inputs((16,), 4, 50)


def build(inputs=TEXT, **params):
    torch.manual_seed(0)
    architecture = registry.build("model", "distilbert", params)
    module = architecture.build(inputs)
    architecture.load(module, data_folder())
    return module


def texts(rows=3, length=16):
    x = torch.randint(3, 50, (rows, length), generator=torch.Generator().manual_seed(1))
    x[:, 0] = 2
    return x


@pytest.mark.parametrize(
    ("params", "inputs", "count"),
    [
        # 768·(30,522 + 512 + 2); 6·(4·(768² + 768) + 2·768·3072 + 3072 + 768 + 4·768);
        # 768² + 768; 769·C
        ({}, Inputs((128,), 4, 30_522), 66_362_880 + 590_592 + 769 * 4),
        ({}, Inputs((128,), 5, 30_522), 66_362_880 + 590_592 + 769 * 5),
        # 32·(50 + 16 + 2); 2·(4·1,056 + 2·32·64 + 64 + 32 + 4·32); 1,056; 33·4
        (SMALL, TEXT, 2_176 + 2 * 8_544 + 1_056 + 132),
    ],
)
def test_parameter_counts_are_the_published_ones(params, inputs, count):
    with torch.device("meta"):
        model = build(inputs, **params | {"weights": "random"})
    assert sum(p.numel() for p in model.parameters()) == count
    assert not list(model.buffers())


def test_logits_come_from_body_and_head():
    model = build(**SMALL).eval()
    x = texts()
    assert model(x).shape == (3, 4)
    assert model.body(x).shape == (3, 32)
    assert (model.body(x) >= 0).all()  # after ReLU
    assert torch.equal(model(x), model.head(model.body(x)))
    assert build(TEXT._replace(classes=7), **SMALL)(x).shape == (3, 7)


def test_random_weights_are_narrow_and_depend_on_the_seed():
    first, again = build(**SMALL), build(**SMALL)
    assert all(map(torch.equal, first.parameters(), again.parameters()))
    assert first.head.weight.detach().std() == pytest.approx(0.02, rel=0.3)
    assert not first.head.bias.any()


def test_padding_is_not_attended_to():
    model = build(**SMALL).eval()
    short = texts(length=9)
    padded = torch.zeros(3, 16, dtype=torch.long)
    padded[:, :9] = short
    assert torch.allclose(model(short), model(padded), atol=1e-6)
    with torch.no_grad():
        model.body.embeddings.word_embeddings.weight[0] = 9.0
    assert torch.allclose(model(short), model(padded), atol=1e-6)
    assert not torch.allclose(model(padded), model(padded.where(padded > 0, 5)), atol=1e-6)


def test_word_order_counts():
    model = build(**SMALL).eval()
    x = texts()
    assert not torch.allclose(
        model(x), model(torch.cat([x[:, :1], x[:, 1:].flip(1)], 1)), atol=1e-6
    )


def test_the_library_gives_the_same_logits():
    model = registry.build("model", "distilbert", SMALL)
    whole = model._classifier(TEXT).eval()
    x = texts()
    x[:, 11:] = 0
    expected = whole(input_ids=x, attention_mask=(x != 0).long()).logits
    ours = build(**SMALL).eval()
    pairs = {
        "distilbert.": "body.",
        "classifier.": "head.",
        "pre_classifier.": "body.pre_classifier.",
    }
    renamed = {
        new + name.removeprefix(old): value
        for name, value in whole.state_dict().items()
        for old, new in pairs.items()
        if name.startswith(old)
    }
    ours.load_state_dict(renamed)
    assert torch.allclose(ours(x), expected, atol=1e-6)


def test_it_is_a_function_of_a_flat_vector_in_double_precision():
    net = Net(build(**STILL).double())
    x, w = texts(), net.start().w
    assert net.features == 32

    def loss(w):
        return net.train(w, {}, x)[0].square().sum()

    v = torch.randn_like(w) * (w != 0)  # the padding's embedding stays where it is
    slope = torch.func.grad(loss)(w) @ v
    assert slope == pytest.approx(float(loss(w + 1e-6 * v) - loss(w - 1e-6 * v)) / 2e-6, rel=1e-5)
    direct = torch.autograd.grad(loss(w.requires_grad_()), w)[0]
    assert torch.allclose(direct @ v, slope)
    curvature = torch.func.jvp(torch.func.grad(loss), (w.detach(),), (v,))[1]
    assert torch.isfinite(curvature).all()


def test_dropout_is_the_clients_own(cpu):
    spec = RunSpec(dataset="topics", model={"distilbert": SMALL}, rounds=1, steps=1, clients=2)
    first, again = (run(spec, machine=cpu).weights for _ in range(2))
    assert torch.equal(first, again)


def test_one_step_lowers_the_loss():
    net = Net(build(**STILL))
    x, y, w = texts(8), torch.arange(8) % 4, net.start().w

    def loss(w):
        return torch.nn.functional.cross_entropy(net.train(w, {}, x)[0], y)

    assert loss(w - 0.1 * torch.func.grad(loss)(w)) < loss(w)


@pytest.mark.parametrize("extra", [{}, {"parts": [{"fedgkd": {}}], "projection": 8}])
def test_federated_training_on_embedded_text_beats_chance(cpu, extra):
    spec = RunSpec(
        dataset="topics", model={"distilbert": STILL}, clients=5, participation=0.4, rounds=8,
        batch=25, optimizer="adam", lr=3e-3, eval_every=8, **extra,
    )  # fmt: skip
    assert run(spec, machine=cpu).history["accuracy"].iloc[-1] > 0.38  # chance is 0.25 ± 0.02


BACKBONE = "distilbert."


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A file like the published one, at a small size, in the data folder."""
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path))
    torch.manual_seed(5)
    body = registry.build("model", "distilbert", SMALL).build(TEXT).body
    found = {
        BACKBONE + name: value.contiguous()
        for name, value in body.state_dict().items()
        if not name.startswith("pre_classifier")
    }
    found["vocab_projector.bias"] = torch.zeros(50)
    return found


def keep(folder, tensors):
    place = folder / "distilbert-base-uncased"
    place.mkdir(exist_ok=True)
    save_file(tensors, place / "model.safetensors")


def test_published_weights_fill_the_backbone_and_leave_the_classifier(published, tmp_path):
    keep(tmp_path, published)
    read, drawn = build(**SMALL | {"weights": "pretrained"}), build(**SMALL)
    for name, value in read.body.state_dict().items():
        fresh = name.startswith("pre_classifier")
        assert torch.equal(
            value, drawn.body.state_dict()[name] if fresh else published[BACKBONE + name]
        )
    assert torch.equal(read.head.weight, drawn.head.weight)
    x = texts()
    assert not torch.equal(read.eval()(x), drawn.eval()(x))


WRONG = [
    (
        "embeddings.word_embeddings.weight",
        torch.zeros(51, 32),
        "is (51, 32) in the file and (50, 32) in the model",
    ),
    (
        "transformer.layer.0.ffn.lin1.weight",
        torch.zeros(65, 32),
        "lin1.weight is (65, 32) in the file",
    ),
    (
        "transformer.layer.2.ffn.lin1.bias",
        torch.zeros(64),
        "ffn.lin1.bias is (64,) in the file and missing in the model of this run",
    ),
    ("transformer.layer.1.ffn.lin1.bias", None, "lin1.bias is missing in the file and (64,"),
]


@pytest.mark.parametrize(("name", "value", "sentence"), WRONG, ids=[s for *_, s in WRONG])
def test_other_weights_are_refused_by_tensor(name, value, sentence, published, tmp_path):
    other = published | {BACKBONE + name: value}
    keep(tmp_path, {k: v for k, v in other.items() if v is not None})
    refused(sentence, tmp_path)


@pytest.mark.parametrize("content", [b"", b"{}", b"\x08" + b"\0" * 7 + b"notjson!", b"x" * 99])
def test_broken_weights_are_refused(content, published, tmp_path):
    keep(tmp_path, published)
    (tmp_path / "distilbert-base-uncased" / "model.safetensors").write_bytes(content)
    refused("not a readable safetensors file", tmp_path)


def test_missing_weights_are_refused_with_the_remedy(published, tmp_path):
    refused("is not there; put the published weights there (--data-dir or FEDBENCH_DATA", tmp_path)


def refused(sentence, folder):
    with pytest.raises(FedbenchError) as caught:
        build(**SMALL | {"weights": "pretrained"})
    assert sentence in str(caught.value)
    assert str(folder / "distilbert-base-uncased" / "model.safetensors") in str(caught.value)
    assert "weights = 'random'" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("inputs", "params", "sentence"),
    [
        (Inputs((3, 32, 32), 10), {}, r"samples of shape \(3, 32, 32\) are not texts"),
        (Inputs((17,), 4, 50), {}, "positions = 16 must be ≥ 17"),
        (TEXT, {"heads": 5}, "dim = 32 is no multiple of heads = 5"),
        (TEXT, {"dropout": 1.0}, "dropout = 1.0 is not allowed; it must be a number ≥ 0, < 1"),
        (TEXT, {"weights": "none"}, "must be one of random, pretrained"),
    ],
)
def test_what_cannot_be_built_is_refused(refuses, inputs, params, sentence):
    with refuses(sentence):
        build(inputs, **SMALL | params)


def test_a_run_on_images_is_refused(cpu, refuses):
    with refuses("are not texts"):
        run(RunSpec(model={"distilbert": SMALL}), machine=cpu)
