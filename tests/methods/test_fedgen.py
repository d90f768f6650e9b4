"""FedGen: its losses by hand, its invariants, and generator and clients against plain PyTorch."""

import math
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from fedbench import Machine, Part, RunSpec, run
from fedbench.base import registry, seeds
from fedbench.core import ops
from fedbench.core.flat_network import Net
from fedbench.core.rng import torch_generator
from fedbench.core.round_data import Turn
from fedbench.methods import fedgen
from fedbench.methods.fedgen import FedGen
from fedbench.models.architecture import BodyHead
from tests.few import load_data
from tests.methods.one_weight import close

EXTRA = [{"a": 1.0, "b": 1.0, "labels": "pooled", "size": 8, "noise": 4, "hidden": 6}]
NEUTRAL = [{"a": 0.0}, {"a": 0.0, "N": 0}]
_BY_BATCH = "as if a batch had as many samples as `size` generates, since no cost knows the batch"
UNCOUNTED = {"forward": _BY_BATCH, "backward": _BY_BATCH}
QUICK = {"N": 2, "hidden": 4, "noise": 2, "size": 4}

SMALL = {"size": 6, "noise": 3, "hidden": 5, "N": 4, "eta": 0.01}
SPEC = {
    **{"model": {"mlp": {"hidden": 8}}, "partition": {"dy": {"alpha": 0.3}}, "clients": 5},
    **{"participation": 0.6, "rounds": 2, "batch": 20, "lr": 0.1, "precision": "float64"},
}


@dataclass(frozen=True)
class Film(Part):
    """Keeps what the server saw of each round."""

    frames: list = field(default_factory=list)

    def end(self, delta, t):
        t.upload["labels"] = t.labels
        return delta

    def step(self, d, r):
        counts = torch.stack([up["labels"] for up in r.uploads])
        self.frames.append(SimpleNamespace(models=r.models, counts=counts, w=r.w))
        return d


def trained(part, **settings):
    """(weights, frames) of a run on digits."""
    film = Film()
    parts = (part, film) if part else (film,)
    spec = RunSpec(**{**SPEC, **settings})
    result = run(spec, machine=Machine(device="cpu", workers=1), parts=parts)
    return result.weights, film.frames


def net():
    """What the digits model looks like."""
    spec = RunSpec(**SPEC)
    data = load_data(spec.dataset.name, spec.dataset.params, None)
    return Net(registry.build("model", "mlp", {"hidden": 8}).build(data.inputs).double())


# The losses by hand


def test_likeness_by_hand():
    # noises 0 and 1: d_ε = 1; outputs (0, 0) and (1, 3): d_Γ = 2. Of the four pairs two are a
    # sample with itself: the mean of 0, 0, 2, 2 is 1
    value = fedgen._likeness(torch.tensor([[0.0], [1.0]]), torch.tensor([[0.0, 0.0], [1.0, 3.0]]))
    assert value.item() == pytest.approx(math.exp(-1))


def fake_round(models, rng=0):
    """A round whose classifiers give the logits (w, 0) whatever the features are."""

    def head(w, features):
        return torch.stack([w[0] + 0 * features[:, 0], 0 * features[:, 0]], 1)

    fed = SimpleNamespace(classes=2, net=SimpleNamespace(head=head))
    models = torch.tensor(models)[:, None]
    return SimpleNamespace(
        rng=torch.Generator().manual_seed(rng), w=models[0], fed=fed, models=models
    )


def same(x):
    return torch.ones(len(x), 4)


@pytest.mark.parametrize("labels", ["uniform", "pooled"])
def test_the_teachers_are_weighed_by_their_share_of_the_label(labels):
    # Counts of class 0: 3 and 1; nobody holds class 1, so it is not drawn. CE of the logits (0, 0)
    # is log 2, of (log 3, 0) it is −log ¾. Equal features: the penalty is exp 0 = 1
    counts = torch.tensor([[3.0, 0.0], [1.0, 0.0]])
    part = FedGen(labels=labels, diversity=0.5)
    value = part._loss(same, counts, part._often(counts), fake_round([0.0, math.log(3)]))
    assert value.item() == pytest.approx(0.75 * math.log(2) + 0.25 * math.log(4 / 3) + 0.5)


def test_the_shares_of_every_label_present_sum_to_one():
    # equal classifiers: the weights do not matter, with three clients of any counts
    counts = torch.tensor([[3.0, 7.0], [1.0, 0.0], [0.0, 5.0]])
    part = FedGen()
    value = part._loss(same, counts, part._often(counts), fake_round([0.0, 0.0, 0.0]))
    assert value.item() == pytest.approx(math.log(2) + 1)


def test_pooled_labels_come_as_often_as_they_are_held():
    rng = torch.Generator().manual_seed(0)
    drawn = fedgen._labels(rng, torch.tensor([6.0, 0.0, 2.0]), 100, 100)
    assert drawn.shape == (100, 100)
    shares = torch.bincount(drawn.flatten(), minlength=3) / 10_000
    assert shares.tolist() == pytest.approx([0.75, 0, 0.25], abs=0.02)


def turn(part, t, steps=2):
    """A turn in round t with what the server sends at first; features of width 3, 2 classes."""
    module = BodyHead(nn.Identity(), nn.Identity())
    fed = SimpleNamespace(classes=2, net=SimpleNamespace(features=3, module=lambda: module))
    w = torch.zeros(1, dtype=torch.float64)
    found = Turn(
        fed=fed, w=w, buffers={}, lr=0.1, H=steps, n=torch.tensor(2.0), labels=torch.ones(2),
        weight_decay=0.0, round=t,
    )  # fmt: skip
    found.msg = part.server(w, fed)
    found.drawn = part.draw(torch.Generator().manual_seed(0), found)
    return found


def batch(head, logits=None):
    return SimpleNamespace(head=head, logits=logits, y=torch.tensor([0, 1]))


@pytest.mark.parametrize(
    ("a", "t", "strength"),
    [(1.0, 1, 0.98), (1.0, 3, 0.98**3), (2.0, 1, 1.96), (1e-3, 200, 1e-4), (1.0, 0, 0)],
)
def test_the_generated_term_fades_to_a_floor_and_begins_in_the_second_round(a, t, strength):
    # logits (0, 0) cost log 2
    part = FedGen(a=a, **SMALL)
    b = batch(lambda features: 0 * features[:, :2])
    value = part.loss(torch.tensor(5.0, dtype=torch.float64), b, turn(part, t))
    assert value.item() == pytest.approx(5 + strength * math.log(2), rel=1e-12)


def test_the_latent_term_by_hand():
    # q = (¾, ¼) from the generated features, p = (½, ½): KL = ¾ log 1.5 + ¼ log ½
    part = FedGen(a=0, b=2.0, **SMALL)
    head = torch.tensor([math.log(3), 0.0], dtype=torch.float64, requires_grad=True)
    logits = torch.zeros(2, 2, dtype=torch.float64, requires_grad=True)
    b = batch(lambda features: head.expand(len(features), 2), logits)
    value = part.loss(torch.tensor(0.0, dtype=torch.float64), b, turn(part, 1))
    assert value.item() == pytest.approx(1.96 * (0.75 * math.log(1.5) + 0.25 * math.log(0.5)))
    # the target is fixed, the student's output learns: p − q over the two rows
    value.backward()
    assert head.grad is None
    assert close(logits.grad, *[1.96 * v / 2 for v in (-0.25, 0.25, -0.25, 0.25)])


def test_a_long_batch_uses_the_noise_again():
    part = FedGen(a=0, b=1.0, size=2, noise=3, hidden=5)
    seen = []
    t = turn(part, 1)
    b = batch(lambda z: seen.append(z) or 0 * z[:, :2], torch.zeros(3, 2))
    b.y = torch.tensor([0, 0, 0])
    # Positive scales and shifts: no row of noise loses all its hidden units to ReLU
    rng = torch.Generator().manual_seed(0)
    t.msg["gamma"] = torch.rand(t.msg["gamma"].shape, generator=rng, dtype=torch.float64)
    part.loss(torch.tensor(0.0), b, t)
    assert torch.equal(seen[0][0], seen[0][2])
    assert not torch.equal(seen[0][0], seen[0][1])


# Invariants


def test_round_one_is_fedavg():
    plain = trained(None, rounds=1)[0]
    torch.testing.assert_close(trained(FedGen(a=10.0, b=1.0, **SMALL), rounds=1)[0], plain)
    assert not torch.allclose(trained(FedGen(a=10.0, **SMALL))[0], trained(None)[0])


def test_the_generated_branch_changes_no_body_parameter():
    rules = {"steps": 1, "momentum": 0.5}
    plain, got = (trained(part, **rules)[0] for part in (None, FedGen(a=5.0, **SMALL)))
    head = net().head_mask()
    torch.testing.assert_close(got[~head], plain[~head])
    assert not torch.isclose(got[head], plain[head]).any()


def test_the_generator_trains_though_no_client_listens():
    seen = []

    class Mute(FedGen):
        def step(self, d, r):
            found = super().step(d, r)
            seen.append(r.state["gamma"])
            return found

    muted = trained(Mute(a=0, **SMALL))[0]
    torch.testing.assert_close(muted, trained(None)[0])
    assert not torch.isclose(seen[0], seen[1], rtol=0, atol=1e-6).any()


def test_torchs_shared_numbers_are_left_alone():
    before = torch.get_rng_state()
    fedgen._perceptron.cache_clear()
    trained(FedGen(a=1.0, b=1.0, **SMALL))
    assert torch.equal(torch.get_rng_state(), before)


# Plain PyTorch, from the paper and its code


class Reference:
    """The server's generator as a module with torch's own Adam."""

    def __init__(self, part):
        self.part = part
        layers = (nn.Linear(part.noise + 10, part.hidden), nn.BatchNorm1d(part.hidden))
        self.gamma = nn.Sequential(*layers, nn.ReLU(), nn.Linear(part.hidden, 8)).double()
        self.adam = torch.optim.Adam(
            self.gamma.parameters(), part.eta, weight_decay=part.weight_decay
        )

    def begin(self, rng):
        """Draw the first weights: ±1/√inputs."""
        first, norm, _, last = self.gamma
        random = 2 * torch.rand(Net(self.gamma).d, generator=rng, dtype=torch.float64) - 1
        sizes = [p.numel() for p in self.gamma.parameters()]
        w1, b1, _, _, w2, b2 = random.split(sizes)
        with torch.no_grad():
            for layer, w, b in ((first, w1, b1), (last, w2, b2)):
                layer.weight.copy_(w.view_as(layer.weight) / layer.in_features**0.5)
                layer.bias.copy_(b / layer.in_features**0.5)
        assert norm.weight.unique() == 1

    def inputs(self, noise, y):
        return torch.cat([noise, F.one_hot(y, 10)], 1)

    def train(self, t, models, counts, heads):
        """One round of the server's training."""
        rng, part = torch_generator(0, t, -1, "FedGen"), self.part
        if t == 0:
            self.begin(rng)
        self.adam.param_groups[0]["lr"] = part.eta * 0.98**t
        self.gamma.train()
        for _ in range(part.N):
            held = counts.sum(0)
            often = held if part.labels == "pooled" else (held > 0).double()
            y = torch.multinomial(often, part.size, replacement=True, generator=rng)
            noise = torch.rand(part.size, part.noise, generator=rng, dtype=torch.float64)
            out = self.gamma(self.inputs(noise, y))
            loss = 0
            for head, own in zip(heads(models), counts, strict=True):
                each = F.cross_entropy(head(out), y, reduction="none")
                loss = loss + (own[y] / held[y] * each).mean()
            pairs = [
                (noise[i] - noise[j]).square().mean() * (out[i] - out[j]).abs().mean()
                for i in range(part.size)
                for j in range(part.size)
            ]
            loss = loss + part.diversity * (-sum(pairs) / len(pairs)).exp()
            self.adam.zero_grad()
            loss.backward()
            self.adam.step()
        self.gamma.eval()


def heads(models):
    """The classifier of each model: W (10, 8) and b (10,) are its last 90 numbers."""
    return [classifier(w) for w in models]


def classifier(w):
    return lambda z: z @ w[-90:-10].view(10, 8).T + w[-10:]


@pytest.mark.parametrize("labels", ["uniform", "pooled"])
def test_plain_pytorch(labels):
    # One step a round: each client makes FedAvg's step and one of −η a_t ∂CE/∂head
    part = FedGen(a=0.5, labels=labels, diversity=0.3, **SMALL)
    rules = {"rounds": 3, "steps": 1}
    got, frames = trained(part, **rules)
    twin = Reference(part)
    spec = RunSpec(**{**SPEC, **rules})
    twin.train(0, frames[0].models, frames[0].counts, heads)
    for t in (1, 2):
        frame, pooled = frames[t], frames[t - 1].counts.sum(0)
        rng = seeds.numpy_generator(0, t, -1, "cohort")
        cohort = registry.build("sampler", "uniform", {})(rng, 5, spec.participation, None)
        for i, y_i in zip(cohort, frame.models, strict=True):
            own = torch_generator(0, t, int(i), "FedGen")
            noise = torch.rand(1, part.size, part.noise, generator=own, dtype=torch.float64)[0]
            often = pooled if labels == "pooled" else torch.ones(10)
            y = torch.multinomial(often, part.size, replacement=True, generator=own)
            start = frame.w.clone().requires_grad_()
            z = twin.gamma(twin.inputs(noise, y)).detach()
            F.cross_entropy(classifier(start)(z), y).backward()
            plain = alone(spec, frame.w, t, int(i))
            wanted = plain - 0.1 * 0.5 * 0.98**t * start.grad
            torch.testing.assert_close(y_i, wanted, rtol=0, atol=1e-9)
        twin.train(t, frame.models, frame.counts, heads)
    assert got.isfinite().all()


def alone(spec, w, t, i):
    """One plain step of client i from w in round t."""
    from fedbench.engine.assemble import assemble
    from fedbench.engine.local_round import local_round
    from fedbench.engine.rounds import open_round, prepare

    problem = assemble(spec, {"parts": ()}, Machine(device="cpu", workers=1), None)
    global_model = problem.fed.start._replace(w=w)
    client = prepare(problem, open_round(problem, global_model, t), i, [], [])
    return local_round(problem.task, replace(client, lr=spec.lr)).w


def test_the_generator_learns_what_the_classifiers_know():
    # classifiers that know their classes: after training, Γ's features are told apart
    part = FedGen(**{**SMALL, "size": 32, "N": 400, "eta": 0.01, "diversity": 0.0})
    r = SimpleNamespace(rng=torch.Generator().manual_seed(0), round=0, state={}, uploads=[])
    w = torch.randn(2, 90, generator=r.rng, dtype=torch.float64)
    head = Net(nn.ModuleDict({"body": nn.Identity(), "head": nn.Linear(8, 10)}).double())
    r.fed = SimpleNamespace(classes=10, net=head)
    r.models, r.w = w, w[0]
    r.uploads = [{"counts": torch.ones(10, dtype=torch.float64)} for _ in range(2)]
    r.state = part.server(w[0], r.fed)
    part.step(w[0], r)
    y = torch.arange(10).repeat(5)
    noise = torch.rand(50, part.noise, generator=r.rng, dtype=torch.float64)
    t = SimpleNamespace(fed=r.fed, msg=part.send(r))
    z = part._features(t, noise, y)
    mean = sum(classifier(v)(z) for v in w) / 2
    assert (mean.argmax(1) == y).double().mean() > 0.9
    assert ops.entropy(mean).mean() < math.log(10)


def test_a_head_with_dropout_is_refused(cpu, refuses):
    head = nn.Sequential(nn.Dropout(), nn.Linear(64, 10))
    with refuses("FedGen needs a head without dropout"):
        run(RunSpec(parts=["fedgen"]), machine=cpu, model=BodyHead(nn.Flatten(), head))
