"""FedGKD: the mean of the newest global models as a teacher, by hand and in plain NumPy."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fedbench import RunSpec, run
from fedbench.core.part import Sizes
from fedbench.engine.assemble import build_parts
from fedbench.methods.fedgkd import FedGKD
from fedbench.methods.fedprox import FedProx
from fedbench.spec.compositions import compositions
from tests.methods import reference
from tests.methods.loss_terms import (
    agree,
    batch,
    cross_entropy_slope,
    softmax,
    tensor,
    term,
    train_with,
)
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import close, final, train

EXTRA = [
    {"M": 1},
    {"M": 1, "T": 0.5, "scale_t": False},
    {"M": 2, "buffer_from": "first_aggregate"},
    {"M": 3, "skip_first": True},
    {"M": 1, "regulariser": "mse"},
]
NEUTRAL = [{"coef": 0}, {"coef": 0, "M": 1}, {"coef": 0, "regulariser": "mse"}]

log = math.log

# (¾, ¼) against (½, ½)
TEACHER, STUDENT = [[log(3), 0.0]], [[0.0, 0.0]]
KL = 0.75 * log(1.5) + 0.25 * log(0.5)


def test_a_sample_by_hand():
    b = batch(STUDENT, [0], TEACHER)
    assert float(term(FedGKD(0.1, M=1), b, value=7.0)) == pytest.approx(7 + 0.1 * KL, rel=1e-12)
    mse = term(FedGKD(0.1, M=1, regulariser="mse"), b, value=7.0)
    assert float(mse) == pytest.approx(7 + 0.1 * log(3) ** 2 / 2, rel=1e-12)  # over two classes


def test_temperature_divides_the_logits_and_its_square_multiplies_the_term():
    b = batch(STUDENT, [0], [[2 * log(3), 0.0]])
    assert float(term(FedGKD(0.1, M=1, T=2.0), b)) == pytest.approx(0.4 * KL, rel=1e-12)
    plain = FedGKD(0.1, M=1, T=2.0, scale_t=False)
    assert float(term(plain, b)) == pytest.approx(0.1 * KL, rel=1e-12)


def test_the_term_that_the_fedadc_paper_prints():
    # λ = 0.1, T = 0.5, no T²: logits (½ log 3, 0) over ½ are (log 3, 0)
    part = build_parts(RunSpec(**compositions()["FedGKD (M=1)"].run_settings()))[0]
    found = term(part, batch(STUDENT, [0], [[0.5 * log(3), 0.0]]))
    assert float(found) == pytest.approx(0.1 * KL, rel=1e-12)  # with T² a quarter of it


# With z = w and 'mse' the term is c (w̄ − w)², its gradient 2c (w − w̄): FedProx with μ = 2c when M=1
LINE = {"w": 4.0, "steps": 2}


def weights(rounds, **options):
    part = FedGKD(0.5, regulariser="mse", **options)
    return [final(train([[0.0]], parts=[part], rounds=t + 1, **LINE)) for t in range(rounds)]


def after_a_round(x, teacher):
    """Two steps of g = w + (w − w̄), lr 0.1."""
    for _ in range(2):
        x -= 0.1 * (x + (x - teacher))
    return x


def test_three_rounds_by_hand():
    # w̄ = 4: 4 → 3.6 → 3.6 − 0.1 (3.6 − 0.4) = 3.28; w̄ = (3.28 + 4)/2 = 3.64:
    # 3.28 − 0.1 (3.28 − 0.36) = 2.988; 2.988 − 0.1 (2.988 − 0.652) = 2.7544
    x = weights(3, M=2)
    assert close(x, 3.28, 2.7544, after_a_round(2.7544, (2.7544 + 3.28) / 2))
    assert close(weights(2, M=1), 3.28, after_a_round(3.28, 3.28))
    assert close(weights(3, M=3)[2], after_a_round(2.7544, (2.7544 + 3.28 + 4) / 3))


def test_with_one_model_the_squares_are_fedprox():
    prox = final(train([[0.0]], parts=[FedProx(1.0)], rounds=3, **LINE))
    assert close(weights(3, M=1)[2], prox)


def test_which_models_are_in_the_buffer_at_first():
    # no term in round 1: 4 → 3.6 → 3.24; then w̄ is the mean of x_1 and x_0, or x_1 alone
    start = weights(2, M=2, skip_first=True)
    assert close(start, 3.24, after_a_round(3.24, 3.62))
    aggregated = weights(3, M=2, buffer_from="first_aggregate")
    second = after_a_round(3.24, 3.24)
    assert close(aggregated, 3.24, second, after_a_round(second, (second + 3.24) / 2))
    assert close(weights(2, M=1, skip_first=True), 3.24, after_a_round(3.24, 3.24))


def test_the_teachers_statistics_are_averaged_like_its_weights():
    part, r = FedGKD(M=2), SimpleNamespace(round=1, w=tensor([3.0]), state={})
    r.buffers = {"mean": tensor([5.0, 7.0]), "count": torch.tensor(4)}
    old = SimpleNamespace(w=tensor([1.0]), buffers={"mean": tensor([1.0, 1.0])})
    r.state = {"w": old.w[None], "w/mean": old.buffers["mean"][None], "w/count": torch.tensor([2])}
    r.state = {name: torch.cat([value, value]) for name, value in r.state.items()}
    message = part.send(r)
    assert set(message) == {"w", "w/mean"}  # a counter has no mean, and evaluation reads none
    assert torch.equal(message["w"], tensor([2.0]))
    assert torch.equal(message["w/mean"], tensor([3.0, 4.0]))


@pytest.mark.parametrize("regulariser", ["kl", "mse"])
def test_one_step_with_one_model_is_fedavg(regulariser):
    s = reference.problem(epochs=1, batch=100)
    got = trajectory(s, (FedGKD(5.0, M=1, regulariser=regulariser),))
    np.testing.assert_allclose(got, reference.fedavg(s), rtol=1e-10, atol=1e-12)
    older = trajectory(s, (FedGKD(5.0, M=2, regulariser=regulariser),))
    assert not np.allclose(older, reference.fedavg(s), rtol=1e-4)


def twin(s, coef, M=1, T=1.0, squared=True, mse=False, aggregated=False, skip=False):
    """Algorithm 1 with equation 4; x_t is seen for the first time when round t begins."""
    models = []

    def dz(i, t, x, z, y, rows):
        if len(models) == t:
            models.append(x)
        if t == 0 and (skip or aggregated):
            return cross_entropy_slope(z, y)
        g = s.x[rows] @ np.mean(models[1 if aggregated else 0 :][-M:], axis=0).T
        if mse:
            return cross_entropy_slope(z, y) + coef * 2 * (z - g) / z.size
        away = (softmax(z / T) - softmax(g / T)) / T / len(y)
        return cross_entropy_slope(z, y) + coef * (T**2 if squared else 1) * away

    return train_with(s, dz)


@pytest.mark.parametrize("M", [1, 2, 5])
def test_numpy_reference(M):
    s = reference.problem(by_samples=True)
    agree(s, (FedGKD(2.0, M),), twin(s, 2.0, M))


def test_numpy_reference_with_options():
    s = reference.problem()
    agree(s, (FedGKD(0.1, 1, T=0.5),), twin(s, 0.1, T=0.5))
    agree(s, (FedGKD(2.0, 2, T=3.0, scale_t=False),), twin(s, 2.0, 2, T=3.0, squared=False))
    agree(s, (FedGKD(0.1, 1, regulariser="mse"),), twin(s, 0.1, mse=True))
    aggregated = FedGKD(2.0, 3, buffer_from="first_aggregate")
    agree(s, (aggregated,), twin(s, 2.0, 3, aggregated=True))
    agree(s, (FedGKD(2.0, 3, skip_first=True),), twin(s, 2.0, 3, skip=True))


def test_fedgkd_plus_is_the_same_part_on_a_model_with_a_projection_head(cpu):
    settings = {"clients": 3, "rounds": 2, "batch": 100, "model": {"mlp": {"hidden": 4}}}
    plus = run(
        RunSpec(**settings, projection=5, parts=[{"fedgkd": {"coef": 0.1}}]),
        machine=cpu,
    )
    # 64·4 + 4 hidden, 4·4 + 4 and 4·5 + 5 projection, 5·10 + 10 classifier
    assert plus.record["parameters"] == 260 + 20 + 25 + 60
    assert plus.status == "finished"


def test_cost():
    size = Sizes(d=10, classes=4, K=6, m=3, epochs=5, features=8)
    one, five = FedGKD(M=1).cost(size), FedGKD(M=5).cost(size)
    assert (one.down, one.up, one.forward, one.server_memory) == (0, 0, 1, 0)
    assert (five.down, five.up, five.forward, five.server_memory) == (10, 0, 1, 50)
