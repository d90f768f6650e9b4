"""FedETF: the frame, the logits and β by hand, and a network of two layers in plain NumPy."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from fedbench import RunSpec, run
from fedbench.base import registry
from fedbench.core.flat_network import Net
from fedbench.methods.fedetf import FedETF
from fedbench.models.architecture import BodyHead
from tests.few import few_digits
from tests.methods import reference
from tests.methods.loss_terms import batch, one_hot, softmax, tensor
from tests.methods.on_reference import trajectory

NEEDS = {"projection": 12}
EXTRA = [{"beta": 10.0, "gamma": 0.5}, {"floor": 0.01}]
NEUTRAL = []  # the head is another than FedAvg's

WIDTH = 3


def network(width=WIDTH, bias=True):
    """W x + b, then a head of four classes."""
    torch.manual_seed(1)
    return BodyHead(nn.Linear(5, width), nn.Linear(width, 4, bias=bias)).double()


def begun(part, module, labels, beta=1.0):
    """A client's turn that has begun, and the weights it starts from."""
    net = Net(module)
    fed = SimpleNamespace(classes=4, net=net, start=net.start())
    part.server(net.start().w, fed)
    turn = SimpleNamespace(
        fed=fed, labels=tensor(labels), scratch={}, msg={"beta": tensor(beta)}, lr=0.1
    )
    return turn, part.begin(net.start().w, turn)


@pytest.mark.parametrize("width", [3, 4, 7])
@pytest.mark.parametrize("bias", [True, False])
def test_the_head_is_a_simplex_without_bias(width, bias):
    _, w = begun(FedETF(), network(width, bias), [1, 1, 1, 1])
    module = network(width, bias)
    nn.utils.vector_to_parameters(w, module.parameters())
    v = module.head.weight.detach()
    wanted = (4 * torch.eye(4).double() - 1) / 3  # 1 on the diagonal, −1/3 beside it
    torch.testing.assert_close(v @ v.T, wanted, rtol=1e-10, atol=1e-10)
    assert not bias or not module.head.bias.any()
    assert torch.equal(module.body.weight, network(width, bias).body.weight)


def test_of_all_simplices_it_is_the_nearest_to_the_head_that_was_drawn():
    turn, _ = begun(FedETF(), network(7), [1, 1, 1, 1])
    drawn, v = network(7).head.weight.detach(), turn.scratch["v"]
    rng = torch.Generator().manual_seed(0)
    for _ in range(20):
        q, _ = torch.linalg.qr(torch.randn(7, 7, dtype=torch.float64, generator=rng))
        assert (v - drawn).norm() < (v @ q - drawn).norm()


def test_logits_by_hand():
    # 3 and 1 samples of two classes, none of the others; ‖h‖ = 5, β = 10: 2 z, + ½ log n
    turn, _ = begun(FedETF(gamma=0.5), network(), [3, 1, 0, 0], beta=10.0)
    b = batch([[1.0, 2.0, 0.0, -1.0]], [0])
    b.features = tensor([[3.0, 0.0, 4.0]])
    got = FedETF(gamma=0.5).logits(b.logits, b, turn)
    assert got.tolist() == [pytest.approx([2 + 0.5 * math.log(3), 4.0, 0.0, -2.0], rel=1e-12)]
    turn, _ = begun(FedETF(floor=0.1), network(), [3, 1, 0, 0])
    logs = [math.log(3), 0, math.log(0.1), math.log(0.1)]
    assert turn.scratch["prior"].tolist() == pytest.approx(logs, rel=1e-12)


def test_a_step_of_beta_by_hand():
    # h along v_0: cosines 1 and −1/3. β = 3: e³ against 3 e^{−1}; all classes alike. With
    # q = e³/(e³ + 3/e) β's gradient is (q − 1) · 1 + (1 − q) (−1/3) = −4/3 (1 − q)
    turn, _ = begun(FedETF(), network(), [5, 5, 5, 5], beta=3.0)
    b = batch([[0.0] * 4], [0])
    b.features = 7 * turn.scratch["v"][:1]
    FedETF().after(b, turn)
    q = math.exp(3) / (math.exp(3) + 3 * math.exp(-1))
    assert float(turn.scratch["beta"]) == pytest.approx(3 + 0.1 * 4 / 3 * (1 - q), rel=1e-12)


def test_a_head_too_narrow_for_so_many_classes_is_refused(refuses):
    with refuses("at least C − 1 = 9 features; this one has 8"):
        run(RunSpec(parts=["fedetf"], projection=8, rounds=1), data=few_digits())
    with refuses("FedETF needs a projection head"):
        run(RunSpec(parts=["fedetf"], rounds=1), data=few_digits())


def problem(**changes):
    """The reference's setting, of which x_0 is that of `network`."""
    start = nn.utils.parameters_to_vector(network().parameters()).detach().numpy()
    return replace(reference.problem(**changes), w0=start)


def simplex(drawn):
    """The frame nearest to a drawn head (C, C − 1), as A (AᵀA)^{−½} of the centred head A."""
    A = drawn - drawn.mean(axis=0)
    values, vectors = np.linalg.eigh(A.T @ A)
    C = len(A)
    return math.sqrt(C / (C - 1)) * A @ (vectors / np.sqrt(values)) @ vectors.T


def twin(s, beta=1.0, gamma=1.0, floor=1.0):
    """Only W, b and β are trained, by hand-written backpropagation through h/‖h‖."""
    W0, b0, drawn, _ = (p.detach().numpy() for p in network().parameters())
    v = simplex(drawn)
    body, state = np.concatenate([W0.ravel(), b0]), {"beta": beta}

    def one_round(t, cohort, p, x):
        ys, betas = [], []
        for i in cohort:
            n = np.bincount(s.y[s.rows[i]], minlength=4)
            y, own, prior = x, state["beta"], gamma * np.log(np.maximum(n, floor))
            for rows in s.batches(t, i):
                inputs, W, b = s.x[rows], y[: W0.size].reshape(W0.shape), y[W0.size :]
                h = inputs @ W.T + b
                length = np.linalg.norm(h, axis=1, keepdims=True)
                unit = h / length
                cosines = unit @ v.T
                dz = (softmax(own * cosines + prior) - one_hot(s.y[rows])) / len(rows)
                du = own * dz @ v
                dh = (du - unit * (unit * du).sum(axis=1, keepdims=True)) / length
                g = np.concatenate([(dh.T @ inputs).ravel(), dh.sum(axis=0)])
                y = y - s.eta(t) * (g + s.weight_decay * y)
                own = own - s.eta(t) * (dz * cosines).sum()
            ys.append(y)
            betas.append(own)
        state["beta"] = reference.mix(p, betas)
        return reference.mix(p, ys)

    bodies = reference.rounds(replace(s, w0=body), one_round)
    return np.array([np.concatenate([y, v.ravel(), np.zeros(4)]) for y in bodies])


@pytest.mark.parametrize(
    "parameters", [{}, {"beta": 10.0}, {"gamma": 0.0}, {"gamma": 0.5, "floor": 0.1}], ids=str
)
def test_numpy_reference(parameters):
    for by_samples in (False, True):
        s = problem(by_samples=by_samples)
        got = trajectory(s, (FedETF(**parameters),), network(), projection=WIDTH)
        np.testing.assert_allclose(got, twin(s, **parameters), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["fedacg", "fedadam", "feddyn", "fedprox", "slowmo", "mfl"])
def test_beside_other_methods_too_the_global_head_is_the_frame(name):
    s, v = problem(), simplex(network().head.weight.detach().numpy())
    parts = (registry.build("method", name, {}), FedETF())
    heads = trajectory(s, parts, network(), projection=WIDTH)[:, -v.size - 4 :]
    wanted = np.append(v, np.zeros(4))
    np.testing.assert_allclose(heads, np.tile(wanted, (6, 1)), rtol=0, atol=1e-12)


def test_with_equal_shares_gamma_does_not_matter():
    s = problem()
    y = np.arange(len(s.y)) % 4
    s = replace(s, y=y, rows=np.split(np.arange(48), 6))
    one, other = (
        trajectory(s, (FedETF(gamma=gamma),), network(), projection=WIDTH) for gamma in (0, 2)
    )
    np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)
