"""Bad input is refused in one sentence (the place, the value, what is allowed) before training."""

import json
import random
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from fedbench import Dataset, FedbenchError, Machine, Part, RunSpec, run
from fedbench.data.partition import Partition, draw_partition
from fedbench.engine.workers import Workers
from fedbench.methods.fedprox import FedProx
from fedbench.methods.mfl import MFL
from fedbench.models.architecture import BodyHead
from fedbench.sampling.sampler import Sampler
from tests.engine.records import record
from tests.methods.one_weight import LINE, blocks, line, objects

CPU = Machine(device="cpu", workers=1)


@pytest.fixture(autouse=True)
def _no_training(monkeypatch):
    """Every test here must be refused before the first local step."""

    def trained(*args):
        raise AssertionError("training started")

    monkeypatch.setattr(Workers, "train", trained)


def refused(call, *fragments):
    """`call` raises one sentence that has all fragments."""
    with pytest.raises(FedbenchError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 500
    for fragment in fragments:
        assert fragment in message


# --- settings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "fragments"),
    [
        ({"parts": ["fedprx"]}, ["no method 'fedprx'", "did you mean 'fedprox'"]),
        ({"parts": ["zzz"]}, ["no method 'zzz'", "choose from", "FedADC", "FedADC+"]),
        ({"parts": [{"fedprox": {"muu": 1}}]}, ["'fedprox'", "no parameter 'muu'", "'mu'"]),
        ({"model": "mpl"}, ["no model 'mpl'", "'mlp'"]),
        ({"dataset": "digit"}, ["no dataset 'digit'", "'digits'"]),
        ({"sampler": "unifrm"}, ["no sampler 'unifrm'", "'uniform'"]),
        ({"partition": "idd"}, ["no partition 'idd'", "'iid'"]),
        ({"partition": 3}, ["partition = 3"]),
        (
            {"partition": {"sp": {"s": 3}, "x": 1}},
            ["partition", "must be a name, name:parameter=value"],
        ),
        ({"momentm": 0.9}, ["no field in RunSpec 'momentm'", "did you mean 'momentum'"]),
        ({"participation": 0}, ["participation = 0", "greater than 0"]),
        ({"participation": 1.5}, ["participation = 1.5", "less than or equal to 1"]),
        ({"participation": float("nan")}, ["participation = nan"]),
        ({"batch": 0}, ["batch = 0", "greater than or equal to 1"]),
        ({"clients": 0}, ["clients = 0", "greater than or equal to 1"]),
        ({"rounds": 2.5}, ["rounds = 2.5"]),
        ({"epochs": 0}, ["epochs = 0", "greater than or equal to 1"]),
        ({"lr": -0.1}, ["lr = -0.1", "greater than 0"]),
        ({"lr": 0}, ["lr = 0", "greater than 0"]),
        ({"lr": float("nan")}, ["lr = nan", "finite"]),
        ({"lr": float("inf")}, ["lr = inf", "finite"]),
        ({"lr": "fast"}, ["lr = 'fast'", "number"]),
        ({"lr_decay": 1.1}, ["lr_decay = 1.1", "less than or equal to 1"]),
        ({"weight_decay": float("nan")}, ["weight_decay = nan"]),
        ({"clip": 0}, ["clip = 0", "greater than 0"]),
        ({"validation": 1}, ["validation = 1", "less than 1"]),
        ({"seed": -1}, ["seed = -1", "greater than or equal to 0"]),
        ({"optimizer": "sdg"}, ["optimizer = 'sdg'", "'sgd' or 'adam'"]),
        ({"precision": "float16"}, ["precision = 'float16'", "'float32', 'float64' or"]),
        ({"momentum": 1.0}, ["momentum = 1.0", "less than 1"]),
        ({"betas": (0.9, 1.0)}, ["betas.1 = 1.0", "less than 1"]),
        ({"epochs": 2, "steps": 3}, ["epochs = 2", "steps = 3", "keep one"]),
        ({"optimizer": "adam", "momentum": 0.9}, ["momentum = 0.9", "no effect", "adam"]),
        ({"nesterov": True}, ["nesterov", "momentum > 0"]),
        ({"nesterov": True, "momentum": 0.9, "dampening": 0.1}, ["nesterov", "dampening = 0"]),
    ],
    ids=str,
)
def test_settings(settings, fragments):
    refused(lambda: RunSpec(**settings), *fragments)


@pytest.mark.parametrize(
    ("settings", "fragments"),
    [
        ({"partition": {"dr": {"alpha": 0}}}, ["partition 'dr': alpha = 0 is not allowed", "≥"]),
        ({"partition": {"dr": {"alpha": -1.0}}}, ["partition 'dr': alpha = -1.0 is not allowed"]),
        ({"partition": {"dy": {"alpha": 0.0}}}, ["partition 'dy': alpha = 0.0 is not allowed"]),
        ({"partition": {"sp": {"s": 3}}, "clients": 7}, ["s=3", "7 clients", "multiple of 10"]),
        ({"partition": {"sp": {"s": 11}}}, ["s=11", "at most 10"]),
        ({"clients": 5000}, ["clients = 5000", "1…1442"]),
        ({"parts": [{"fedprox": {"mu": -1}}]}, ["method 'fedprox': mu = -1", "a number ≥ 0"]),
        ({"parts": [{"fedprox": {"mu": float("nan")}}]}, ["method 'fedprox': mu = nan"]),
        ({"parts": [{"fedprox": {"mu": "big"}}]}, ["method 'fedprox': mu = 'big'", "a number ≥ 0"]),
        ({"parts": [{"mfl": {"beta": 1.0}}]}, ["method 'mfl': beta = 1.0", "< 1"]),
        (
            {"parts": [{"mfl": {"buffer": "mine"}}]},
            ["method 'mfl': buffer = 'mine'", "aggregated, chained"],
        ),
        (
            {"parts": [{"rmfl": {"reading": "r3"}}]},
            ["method 'rmfl': reading = 'r3'", "r1, lit, lit0, r2"],
        ),
        ({"parts": ["fedprox", "fedprox"]}, ["'fedprox' is listed twice"]),
        ({"model": {"mlp": {"hidden": 0}}}, ["model 'mlp': hidden = 0", "≥ 1"]),
        ({"model": {"mlp": {"hidden": 100000000000}}}, ["hidden = 100000000000", "≤ 1000000"]),
        ({"model": {"mlp": {"hidden": 1000000, "depth": 3}}}, ["parameters", "GB for 4 copies"]),
        ({"model": {"lenet5": {"width": 1e300}}}, ["model = lenet5(width=1e+300)", "cannot be"]),
        (
            {"parts": [{"fedprox": {"mu": float("inf")}}]},
            ["method 'fedprox': mu = inf", "≥ 0 and finite"],
        ),
        ({"validation": 1e-6}, ["validation = 1e-06 of each class", "is none"]),
        (
            {"parts": ["centralised"], "shift": ["noise"]},
            ["shift: one client differs from no other"],
        ),
        ({"model": "lenet5"}, ["LeNet5", "side 8", "padding = 0 must be larger"]),
    ],
    ids=str,
)
def test_choices(settings, fragments):
    refused(lambda: run(RunSpec(**settings), machine=CPU), *fragments)


def test_a_search_is_not_a_run():
    spec = RunSpec(tune={"grid": {"lr": [0.1, 0.01]}})
    refused(lambda: run(spec, machine=CPU), "tune")
    refused(lambda: RunSpec(tune={"grid": {}}), "tune", "at least one value")
    refused(lambda: RunSpec(tune={"grid": {"lr": []}}), "tune", "at least one value")


def test_a_device_that_is_not_there():
    refused(lambda: run(RunSpec(), machine=Machine(device="cuda:99")), "device = 'cuda:99'")
    refused(lambda: run(RunSpec(), machine=Machine(device="toaster")), "device = 'toaster'")
    refused(lambda: Machine(workers=0), "Machine: workers = 0", "≥ 1")


# --- objects ------------------------------------------------------------------------------------


def of_objects(**changes):
    spec = RunSpec(**{"clients": 2, **LINE})
    return lambda: run(spec, machine=CPU, **{**objects([[1.0, 2.0], [3.0]]), **changes})


@pytest.mark.parametrize(
    ("partition", "fragments"),
    [
        ([np.array([0, 1]), np.array([], int)], ["client 1 has no samples"]),
        ([np.array([0, 1]), np.array([3])], ["client 1", "outside 0…2"]),
        ([{0, 1}, {2}], ["client 0", "shape ()", "sample numbers"]),
        ([np.array([-1, 1]), np.array([2])], ["client 0", "outside 0…2"]),
        ([np.array([0, 1, 2])], ["it has 1 clients", "clients = 2"]),
        ([np.array([True, False, True]), np.array([1])], ["client 0", "bool", "sample numbers"]),
        ([np.array([0.0, 1.0]), np.array([1])], ["client 0", "float64", "sample numbers"]),
        ([np.array([[0, 1]]), np.array([1])], ["client 0", "shape (1, 2)", "sample numbers"]),
    ],
    ids=str,
)
def test_partition_objects(partition, fragments):
    refused(of_objects(partition=partition), "partition", *fragments)


def test_a_partition_object_cannot_use_held_out_rows():
    spec = RunSpec(clients=1, validation=0.5, **LINE)
    share = {"data": line([1.0] * 4), "model": nn.Linear(1, 1), "partition": blocks([4])}
    refused(lambda: run(spec, machine=CPU, **share), "client 0", "held out for validation")


def test_unknown_objects_are_not_ignored():
    refused(of_objects(part=(FedProx(),)), "no object 'part'", "did you mean 'parts'")


def test_parts_that_stand_twice():
    refused(of_objects(parts=(MFL(), MFL(0.5))), "'mfl' is listed twice")


LABELS = np.array([0, 1, 2, 0])
TABLE = Dataset("rows", np.ones((4, 30)), LABELS, np.ones((4, 30)), LABELS, 3)
IMAGES = np.ones((4, 12, 12, 3), np.float32)
PHOTOS = Dataset("photos", IMAGES, LABELS, IMAGES, LABELS, 3)
IDS = np.ones((4, 16), np.int64)
TEXTS = Dataset("texts", IDS, LABELS, IDS, LABELS, 3, vocabulary=5)


def on(data, **given):
    spec = RunSpec(clients=1, **{k: v for k, v in given.items() if k != "module"})
    objects = {"model": given["module"]} if "module" in given else {}
    return lambda: run(spec, machine=CPU, data=data, **objects)


def test_token_ids_have_no_mean():
    refused(on(TEXTS, normalise=True), "normalise = True", "'texts'", "token ids")


@pytest.mark.parametrize("model", ["lenet5", "rn20", "rn8", "acnn", "scnn", "scnntiny", "tinyvit"])
def test_models_of_images_refuse_numbers_and_texts(model):
    refused(on(TABLE, model=model), "samples of shape (30,) are not images", "use an 'mlp'")
    refused(on(TEXTS, model=model), "samples of shape (16,) are not images", "use 'distilbert'")


def test_models_of_text_and_numbers_refuse_what_they_cannot_read():
    refused(on(TEXTS, model="mlp"), "MLP", "token ids", "use 'distilbert'")
    refused(on(PHOTOS, model="distilbert"), "DistilBERT", "(3, 12, 12) are not texts")
    refused(on(TABLE, model="distilbert"), "DistilBERT", "(30,) are not texts")


@pytest.mark.parametrize(
    ("data", "module", "fragments"),
    [
        (TABLE, nn.Linear(30, 2), ["Linear gives", "(2, 2) for 2", "3 classes", "(2, 3)"]),
        (TABLE, nn.Linear(30, 4), ["Linear gives", "(2, 4) for 2", "3 classes"]),
        (TABLE, nn.Linear(29, 3), ["Linear cannot take", "'rows'", "rows of 30 numbers", "29"]),
        (PHOTOS, nn.Conv2d(1, 3, 3), ["Conv2d cannot take", "= (3, 12, 12)", "channels"]),
        (PHOTOS, nn.Conv2d(3, 3, 3), ["Conv2d gives", "(2, 3, 10, 10)"]),
        (TEXTS, nn.Linear(16, 3), ["Linear cannot take", "texts of 16 token ids"]),
        (line([1.0, 2.0]), nn.Linear(1, 2), ["(2, 2) for 2", "numbers for labels", "(2, 1)"]),
    ],
    ids=str,
)
def test_modules_that_do_not_fit_the_data(data, module, fragments):
    refused(on(data, module=module), "model: ", *fragments)


class Answers(nn.Linear):
    """Wraps its logits (B, 3), as models of other libraries do; `when`: in which mode."""

    def __init__(self, wrap, when=(True, False)):
        super().__init__(30, 3)
        self.wrap, self.when = wrap, when

    def forward(self, x):
        z = super().forward(x)
        return self.wrap(z) if self.training in self.when else z


@pytest.mark.parametrize(
    ("module", "kind"),
    [
        (Answers(lambda z: (z, z)), "a tuple"),
        (Answers(lambda z: {"logits": z}), "a dict"),
        (Answers(lambda z: z.numpy()), "a ndarray"),
        (Answers(lambda z: None), "a NoneType"),
        (Answers(lambda z: (z, z), when=[True]), "a tuple"),  # as GoogLeNet in training
        (BodyHead(nn.LSTM(30, 4), nn.Linear(4, 3)), "a tuple"),
        (BodyHead(nn.Identity(), Answers(lambda z: [z])), "a list"),
    ],
    ids=str,
)
def test_a_module_must_return_one_tensor(module, kind):
    refused(on(TABLE, module=module), "model: ", f"returns {kind}; it must return one tensor")


class Keeps(nn.Linear):
    """Does `act` with itself and its inputs before its linear layer."""

    def __init__(self, act):
        super().__init__(30, 3)
        self.act, self.calls, self.own = act, 0, np.random.default_rng()
        self.register_buffer("mean", torch.zeros(30))
        self.register_buffer("passing", torch.zeros(30), persistent=False)

    def forward(self, x):
        return super().forward(self.act(self, x))


def count(self, x):
    self.calls += 1
    return x + self.calls


def count_in_training(self, x):
    return count(self, x) if self.training else x


def blend(self, x):  # a buffer that no client has
    self.passing.lerp_(x.mean(0) + 1, 0.1)
    return x - self.passing


def replace_mean(self, x):
    if self.training:
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
    return x - self.mean


MEMORIES = {
    "counter": (count, ["gives other outputs in evaluation when it is called again"]),
    "in training": (count_in_training, ["other outputs in training when", "keep nothing but"]),
    "no buffer of clients": (blend, ["gives other outputs in evaluation"]),
    "no seed": (lambda self, x: x + self.own.random(), ["gives other outputs", "have no seed"]),
    "dropout": (
        lambda self, x: functional.dropout(x),
        ["draws random numbers in evaluation", "=self.training"],
    ),
    "python": (lambda self, x: x * random.gauss(), ["draws random numbers in evaluation"]),
    "weights": (
        lambda self, x: x * next(self.parameters()).data.mul_(0.5).sum(),
        ["changes its weights when it is called"],
    ),
    "scoring": (lambda self, x: x + self.mean.add_(1), ["changes its buffer 'mean' in evaluation"]),
    "replaced": (replace_mean, ["in the place of its buffer 'mean'", "self.mean.copy_(…)"]),
}  # fmt: skip


@pytest.mark.parametrize("case", MEMORIES)
def test_modules_whose_outputs_depend_on_earlier_calls(case):
    act, fragments = MEMORIES[case]
    refused(on(TABLE, module=Keeps(act)), "model: Keeps ", *fragments)


def running_mean(self, x):
    if self.training:
        self.mean.lerp_(x.detach().mean(0), 0.1)
    return x - self.mean


@pytest.mark.parametrize(
    "layers", [[Keeps(running_mean)], [nn.BatchNorm1d(30), nn.Dropout(0.5), nn.Linear(30, 3)]]
)
def test_running_statistics_and_dropout_are_no_memory(layers):
    with pytest.raises(AssertionError, match="training started"):
        on(TABLE, module=nn.Sequential(*layers))()


@dataclass(frozen=True)
class Doubles(Part):
    """Sets the default dtype before any training."""

    def server(self, w, fed):
        torch.set_default_dtype(torch.float64)
        return {}


def test_the_default_dtype_is_no_parts_business():
    refused(lambda: run(RunSpec(), machine=CPU, parts=(Doubles(),)), "default dtype to float64",
            "set precision: float64")  # fmt: skip
    assert torch.get_default_dtype() == torch.float32


def test_modules_without_weights_to_train():
    frozen = nn.Linear(30, 3).requires_grad_(False)
    refused(on(TABLE, module=frozen), "model: Linear has no weights that are trained")
    lazy = nn.Sequential(nn.Flatten(), nn.LazyLinear(3))
    refused(on(TABLE, module=lazy), "model: Sequential has a lazy layer", "call it once")
    normed = nn.Sequential(nn.Flatten(), nn.LazyBatchNorm1d(), nn.Linear(30, 3))
    refused(on(TABLE, module=normed), "model: Sequential has a lazy layer", "call it once")


@pytest.mark.parametrize("given", [{"max_norm": 0.5}, {"sparse": True}])
def test_embeddings_that_are_no_function_of_weights_alone(given):
    for layer in (nn.Embedding(30, 3, **given), nn.EmbeddingBag(30, 3, **given)):
        refused(on(TABLE, module=nn.Sequential(layer)), "has an embedding with max_norm", "sparse")


class Centring(nn.Linear):
    """Subtracts 1 from its input itself, so that after three rounds the test samples lack 3."""

    def forward(self, x):
        return super().forward(x.sub_(1))


def test_a_module_that_changes_its_input():
    refused(on(TABLE, module=Centring(30, 3)), "model: Centring changes its input", "write x = x")


@pytest.mark.parametrize(
    ("data", "outputs", "loss", "found", "how"),
    [
        (TABLE, 3, functional.cross_entropy, "shape ()", "reduction='none'"),  # their mean
        # each output (B, 1) less each label (B,), which PyTorch spreads to (B, B)
        (line([1.0, 2.0, 3.0]), 1, lambda z, y: (z - y) ** 2, "shape (2, 2)", "z.squeeze(-1)"),
    ],
)
def test_a_loss_gives_one_value_per_sample(data, outputs, loss, found, how):
    given = {"data": data, "model": nn.Linear(*data.shape, outputs), "loss": loss}
    words = f"loss: gives values of {found} for 2 samples; it must give a tensor, one per sample"
    refused(lambda: run(RunSpec(clients=1), machine=CPU, **given), words, how)


NORMED = nn.Sequential(nn.BatchNorm1d(30), nn.Linear(30, 3))
OF_IMAGES = nn.Sequential(nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(432, 3))


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"batch": None}, "but client 1 has a single training sample"),
        ({"batch": 1}, "but batch = 1"),
    ],
    ids=str,
)
def test_batch_norm_of_one_sample(settings, why):
    spec = RunSpec(clients=2, **settings)
    of_two = {"data": TABLE, "model": NORMED, "partition": blocks([3, 1])}
    refused(lambda: run(spec, machine=CPU, **of_two), "model: Sequential", why)


def test_batch_norm_takes_one_image_and_two_rows():
    for batch, data, model, sizes in ((1, PHOTOS, OF_IMAGES, [3, 1]), (2, TABLE, NORMED, [2, 2])):
        given = {"data": data, "model": model, "partition": blocks(sizes)}
        with pytest.raises(AssertionError, match="training started"):
            run(RunSpec(clients=2, batch=batch), machine=CPU, **given)


# --- folders ------------------------------------------------------------------------------------

SMALL = RunSpec(clients=2, rounds=2)


def stored(folder):
    return lambda: run(SMALL, out=folder, machine=CPU)


def test_results_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")
    refused(stored(tmp_path / "file" / "run"), str(tmp_path / "file"), "cannot write")
    refused(stored(tmp_path / "file"), str(tmp_path / "file"), "cannot write")


@pytest.mark.parametrize("text", ["{", "", "[]", '"finished"', "3", "\x00"])
def test_a_damaged_record(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    refused(stored(tmp_path), str(tmp_path / "run.json"), f"delete the folder {tmp_path} to train")


def test_a_finished_run_is_kept(tmp_path):
    (tmp_path / "run.json").write_text(json.dumps(record(SMALL)))
    refused(stored(tmp_path), str(tmp_path), "finished run", "another folder")


def checkpoint(folder, **state):
    torch.save(state, folder / "checkpoint.pt")
    return folder / "checkpoint.pt"


def test_a_truncated_checkpoint(tmp_path):
    file = checkpoint(tmp_path, id=SMALL.id, global_model={"w": torch.zeros(1000), "buffers": {}})
    for size in (0, 10, 500, 2000):
        file.write_bytes(file.read_bytes()[:size])
        refused(stored(tmp_path), str(file), "damaged checkpoint", "delete it")
        checkpoint(tmp_path, id=SMALL.id, global_model={"w": torch.zeros(1000), "buffers": {}})


def test_a_checkpoint_that_lacks_its_content(tmp_path):
    for state in ({}, {"id": SMALL.id}, {"id": SMALL.id, "world": 3, "what": 1}):
        file = checkpoint(tmp_path, **state)
        refused(stored(tmp_path), str(file), "damaged checkpoint", "delete it")


def test_a_checkpoint_whose_network_has_other_buffers(tmp_path):
    spec = SMALL.changed(model={"rn20": {"norm": "bn", "blocks": 1, "width": 0.25}})
    model = {"w": torch.zeros(1), "buffers": {"body.1.running_means": torch.zeros(4)}}
    file = checkpoint(tmp_path, id=spec.id, global_model=model, server=[], clients={})
    words = ("of another version", "body.1.running_mean'", "delete it")
    refused(lambda: run(spec, out=tmp_path, machine=CPU), str(file), *words)


def test_a_checkpoint_of_another_run(tmp_path):
    other = SMALL.changed(seed=1)
    file = checkpoint(tmp_path, id=other.id)
    refused(stored(tmp_path), str(file), f"belongs to run {other.id}", SMALL.id)


def test_a_checkpoint_of_another_winner_of_the_runs_search(tmp_path):
    file = checkpoint(tmp_path, id=SMALL.id, settings=SMALL.changed(lr=0.3).settings())
    words = (f"trained with lr = 0.3, but its search now chooses {SMALL.settings().get('lr')}",)
    refused(stored(tmp_path), str(file), *words, f"delete the folder {tmp_path}")


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        ({"parts": ("fedprox",)}, "parts: ('fedprox',) must be a tuple of parts"),
        ({"parts": FedProx(mu=0.1)}, "must be a tuple of parts, such as (FedProx(mu=0.1),)"),
        ({"sampler": 3}, "sampler: 3 must be a Sampler"),
        ({"probes": [3]}, "probes: [3] must be a tuple of probes"),
        ({"partition": 3}, "partition: 3 must be a list with the sample numbers of each client"),
        ({"loss": 3}, "loss: 3 must be a function"),
        ({"data": "digits"}, "data: digits must be a Dataset"),
        ({"model": len}, "must be a torch.nn.Module"),
    ],
)
def test_an_object_of_another_kind(objects, words):
    refused(lambda: run(SMALL, machine=CPU, **objects), words)


@dataclass(frozen=True)
class Idle(Part):
    """Has no hook."""


@dataclass(frozen=True)
class Setp(Part):
    """Its hook is misspelt."""

    def setp(self, d, r):
        return d


def test_a_part_that_would_be_fedavg_under_another_name():
    refused(lambda: run(SMALL, machine=CPU, parts=(Idle(),)), "'idle' overrides no hook", "step")
    refused(lambda: run(SMALL, machine=CPU, parts=(Setp(),)), "no hook 'setp'", "mean 'step'")


@dataclass(frozen=True)
class Rows(Partition):
    """Gives every client the same rows."""

    rows: tuple[float, ...] = (0,)

    def split(self, labels, clients, rng):
        return [np.array(self.rows)] * clients


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ((0.5,), "client 0 holds float64 of shape (1,); it must be sample numbers (n,)"),
        ((-1, 2), "names a sample outside 0…"),
        ((10**6,), "names a sample outside 0…"),
        ((3, 3), "client 0 has a sample twice"),
        ((), "client 0 has no samples"),
    ],
)
def test_what_a_partition_rule_may_return(rows, words):
    labels = np.zeros(10, np.int64)
    data = Dataset("d", np.zeros((10, 1)), labels, np.zeros((1, 1)), labels[:1], 1)
    refused(lambda: draw_partition(Rows(rows), data, np.arange(10), 2, 0), words)


@dataclass(frozen=True)
class Draws(Sampler):
    """Draws the same clients in every round."""

    clients: tuple[float, ...]

    def __call__(self, rng, K, participation, labels):
        return list(self.clients)


@pytest.mark.parametrize("clients", [(), (0, 0), (0, 99), (-1,), (0.5,)])
def test_what_a_sampler_may_draw(clients):
    drawn = f"drew the clients {list(clients)}; it must draw at least one of 0…"
    refused(lambda: run(SMALL, machine=CPU, sampler=Draws(clients)), "sampler: ", drawn)


@dataclass(frozen=True)
class Forgets(Sampler):
    """Forgets to return the clients."""

    def __call__(self, rng, K, participation, labels):
        {1}.union({0})


def test_a_sampler_without_return():
    refused(lambda: run(SMALL, machine=CPU, sampler=Forgets()), "Forgets() returned None")


def test_a_module_that_cannot_be_copied():
    with pytest.warns(FutureWarning, match="weight_norm"):
        layer = nn.utils.weight_norm(nn.Linear(64, 10))
    model = nn.Sequential(nn.Flatten(), layer)
    refused(lambda: run(SMALL, machine=CPU, model=model), "Sequential cannot be copied")


def test_a_checkpoint_cannot_run_code(tmp_path):
    class Evil:
        def __reduce__(self):
            return (print, ("run",))

    file = checkpoint(tmp_path, id=SMALL.id, global_model=Evil())
    refused(stored(tmp_path), str(file), "damaged checkpoint")
