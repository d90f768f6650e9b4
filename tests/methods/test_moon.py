"""MOON: model contrast by hand, its invariants, and a plain torch loop."""

import copy
import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from fedbench import Dataset, Machine, RunSpec, run
from fedbench.base import seeds
from fedbench.core.flat_network import Net
from fedbench.core.part import Sizes
from fedbench.engine.rounds import batches
from fedbench.methods.moon import MOON
from fedbench.models.architecture import BodyHead
from fedbench.sampling.sampler import Uniform
from tests.methods.loss_terms import batch, slope, tensor, term, turn
from tests.methods.on_reference import Film
from tests.methods.one_weight import blocks

NEEDS = {"projection": 8}
EXTRA = [{"first": "x0"}, {"first": "random"}]
NEUTRAL = [{"mu": 0}, {"mu": 0, "first": "x0"}]

FIRST = ["skip", "x0", "random"]


def before(prev, seen=1.0):
    """A client whose last model had these features."""
    return turn([1.0], state={"prev": tensor(prev), "seen": tensor(seen)})


def test_a_sample_by_hand():
    # cos with the global model 1, with the previous one 0, τ=½: −log(e² / (e² + 1))
    b = batch([[3.0, 0.0]], [0], [[0.5, 0.0]])
    wanted = -math.log(math.exp(2) / (math.exp(2) + 1))
    got = term(MOON(5.0), b, before([[0.0, 2.0]]), value=7.0)
    assert float(got) == pytest.approx(7 + 5 * wanted, rel=1e-12)
    # τ=1 and cosines 3/5 and −4/5: log(1 + e^{−7/5})
    b = batch([[3.0, 4.0]], [0], [[1.0, 0.0]])
    got = term(MOON(1.0, tau=1.0), b, before([[0.0, -1.0]]))
    assert float(got) == pytest.approx(math.log(1 + math.exp(-1.4)), rel=1e-12)


def test_the_contrast_is_a_mean_over_samples():
    rng = np.random.default_rng(0)
    z, g, p = rng.normal(size=(3, 4, 5))
    one_by_one = [
        float(term(MOON(1.0), batch(z[j : j + 1], [0], g[j : j + 1]), before(p[j : j + 1])))
        for j in range(4)
    ]
    together = batch(z, [0] * 4, g)
    assert float(term(MOON(1.0), together, before(p))) == pytest.approx(np.mean(one_by_one))


def test_it_is_log_two_with_no_gradient_if_the_previous_model_is_the_global_one():
    z, g = np.random.default_rng(1).normal(size=(2, 4, 5))
    got = term(MOON(1.0), batch(z, [0] * 4, g), before(g))
    assert float(got) == pytest.approx(math.log(2), rel=1e-12)
    part = MOON(1.0)
    assert gradient(part, z, g, g).abs().max() < 1e-16
    assert gradient(part, z, g, z).abs().max() > 0.01


def gradient(part, z, g, p):
    """The term's gradient at the student's features."""
    z = tensor(z).clone().requires_grad_()
    b = batch(z.detach(), [0] * len(z), g)
    b.features = z
    return torch.autograd.grad(term(part, b, before(p)), z)[0]


@pytest.mark.parametrize("tau", [0.1, 0.5, 2.0])
def test_the_term_is_bounded(tau):
    top = math.log(1 + math.exp(2 / tau))
    rng = np.random.default_rng(2)
    for z, g, p in rng.normal(size=(50, 3, 1, 2)):
        value = float(term(MOON(3.0, tau=tau), batch(z, [0], g), before(p)))
        assert 0 <= value <= 3 * top
    worst = term(MOON(3.0, tau=tau), batch([[1.0, 0.0]], [0], [[-1.0, 0.0]]), before([[2.0, 0.0]]))
    assert float(worst) == pytest.approx(3 * top, rel=1e-12)


def test_the_logits_have_no_gradient_of_their_own():
    z = np.random.default_rng(3).normal(size=(4, 5))
    with pytest.raises(RuntimeError, match="does not require grad"):
        slope(MOON(), z, [0] * 4, before(z))


@pytest.mark.parametrize(
    ("first", "seen", "wanted"), [("skip", 0, 0), ("skip", 1, 1), ("x0", 0, 1)]
)
def test_a_first_turn_is_skipped_unless_told_otherwise(first, seen, wanted):
    z, g, p = np.random.default_rng(4).normal(size=(3, 2, 3))
    full = float(term(MOON(1.0), batch(z, [0, 0], g), before(p)))
    got = float(term(MOON(1.0, first=first), batch(z, [0, 0], g), before(p, float(seen))))
    assert got == pytest.approx(wanted * full, rel=1e-12)


def test_a_random_network_stands_in_only_for_a_first_turn():
    part = MOON(first="random")
    for seen, wanted in ((0.0, 9.0), (1.0, 5.0)):
        t = before([5.0], seen)
        t.drawn = {"prev": tensor([9.0])}
        assert part.begin(tensor([1.0]), t) == tensor([1.0])
        assert float(t.state["prev"]) == wanted


def test_a_new_network_comes_from_its_generator_alone():
    torch.manual_seed(0)
    net = Net(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2), nn.Linear(2, 2)))
    state = torch.get_rng_state()
    one, same = (net.fresh(torch.Generator().manual_seed(1)) for _ in range(2))
    other = net.fresh(torch.Generator().manual_seed(2))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(one.w, same.w)
    assert not torch.isclose(one.w[:6], other.w[:6]).any()
    assert not torch.isclose(one.w[:6], net.start().w[:6]).any()
    assert one.w[:6].abs().max() <= 3**-0.5  # the layer's own range


class Body(nn.Module):
    """Features with a projection to two of them, and running statistics."""

    def __init__(self, norm):
        super().__init__()
        self.one, self.two = nn.Linear(4, 3), nn.Linear(3, 2)
        self.norm = nn.BatchNorm1d(3) if norm else nn.Identity()

    def forward(self, x):
        return self.two(torch.relu(self.norm(self.one(x))))


def network(norm=False):
    torch.manual_seed(2)
    return BodyHead(Body(norm), nn.Linear(2, 3)).double()


def cloud():
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(26, 4)), rng.integers(0, 3, 26)
    return Dataset("cloud", x, y, x, y, 3)


SIZES = [3, 7, 6, 10]
SPEC = RunSpec(
    **{"clients": 4, "participation": 0.5, "rounds": 6, "epochs": 2, "batch": 4},
    **{"lr": 0.3, "lr_decay": 0.9, "weight_decay": 0.01, "projection": 2, "precision": "float64"},
)


def moon(mu, norm=False, **options):
    """The global models x_1 … x_T."""
    film = Film()
    share = {"data": cloud(), "model": network(norm), "partition": blocks(SIZES)}
    parts = (MOON(mu, **options), film)
    run(SPEC, machine=Machine(device="cpu", workers=1), parts=parts, **share)
    return film.frames


def plain(mu, first, norm=False):
    """The authors' loop, in torch: cross-entropy of (cos_g/τ, cos_p/τ) against class 0."""
    data, x_t = cloud(), network(norm)
    x, y = torch.as_tensor(data.x_train), torch.as_tensor(data.y_train)
    rows = [torch.as_tensor(block) for block in blocks(SIZES)]
    previous, frames = {}, []
    for t in range(SPEC.rounds):
        models = []
        for i in who(t):
            student, teacher = (
                copy.deepcopy(x_t).train(),
                copy.deepcopy(x_t).eval(),
            )
            old = previous.get(i, network(norm).eval() if first == "x0" else None)
            optimiser = torch.optim.SGD(student.parameters(), 0.3 * 0.9**t, weight_decay=0.01)
            for b in batches(0, t, i, rows[i], 4, 2, None, drop_single=norm):
                h = student.body(x[b])
                loss = F.cross_entropy(student.head(h), y[b])
                if old is not None:
                    with torch.no_grad():
                        others = [teacher.body(x[b]), old.body(x[b])]
                    pair = torch.stack([F.cosine_similarity(h, o) for o in others], 1) / 0.5
                    loss = loss + mu * F.cross_entropy(pair, torch.zeros(len(b), dtype=torch.long))
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
            models.append(student)
            previous[i] = copy.deepcopy(student).eval()
        x_t = mixed(models)
        frames.append(nn.utils.parameters_to_vector(x_t.parameters()).detach())
    return frames


def mixed(models):
    """The mean of models, statistics included."""
    found, states = copy.deepcopy(models[0]), [m.state_dict() for m in models]
    found.load_state_dict({k: sum(s[k] for s in states) / len(states) for k in states[0]})
    return found


def who(t):
    """S_t."""
    return Uniform()(seeds.numpy_generator(0, t, -1, "cohort"), 4, 0.5, None)


@pytest.mark.parametrize("first", ["skip", "x0"])
def test_plain_torch_reference(first):
    got, want = moon(5.0, first=first), plain(5.0, first)
    assert not torch.allclose(want[-1], plain(0.0, first)[-1], rtol=1e-3)
    torch.testing.assert_close(torch.stack(got), torch.stack(want), rtol=1e-8, atol=1e-10)


def test_the_previous_model_comes_with_its_own_statistics():
    got, want = moon(5.0, first="skip", norm=True), plain(5.0, "skip", norm=True)
    torch.testing.assert_close(torch.stack(got), torch.stack(want), rtol=1e-8, atol=1e-10)


def test_the_three_first_turns_differ_and_round_one_of_skip_is_fedavg():
    frames = {first: moon(5.0, first=first) for first in FIRST}
    fedavg = moon(0.0)
    assert torch.equal(frames["skip"][0], fedavg[0])
    assert not torch.equal(frames["skip"][-1], fedavg[-1])
    # a client's first turn with x_0 in round 1: the previous model is the global one, log 2
    torch.testing.assert_close(frames["x0"][0], fedavg[0], rtol=1e-12, atol=1e-14)
    assert not torch.allclose(frames["random"][0], fedavg[0], rtol=1e-3)
    assert torch.equal(frames["random"][0], moon(5.0, first="random")[0])


def test_it_needs_a_projection_head(refuses):
    with refuses("MOON needs a projection head"):
        run(RunSpec(parts=["moon"]))


def test_it_keeps_one_model_a_client():
    cost = MOON().cost(Sizes(d=10, classes=4, K=6, m=3, epochs=5, features=8))
    assert (cost.forward, cost.teachers, cost.down, cost.up) == (2, 2, 0, 0)
    assert cost.client_memory == 11
