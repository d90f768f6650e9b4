"""Methods that must coincide, as whole trajectories in float64 (specification, section 28)."""

import functools
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch

from fedbench import Dataset, Machine, RunSpec, run
from fedbench.base import registry
from fedbench.engine.rounds import batches
from tests.few import few_digits
from tests.methods import reference
from tests.methods.on_reference import Film, trajectory
from tests.methods.one_weight import blocks

NEAR = {"rtol": 1e-10, "atol": 1e-10}
PLAIN = {"weight_decay": 0.0}
CLIPPED = {"clip": 0.5}


def parts(*named):
    """('fedprox', {'mu': 1}), … as parts."""
    return tuple(registry.build("method", name, params) for name, params in named)


_PATHS = {}  # many methods are compared with the same FedAvg


def path(s, *named, **settings):
    """x_0, x_1 … x_T on the softmax regression of the NumPy reference."""
    key = (pickle.dumps(s), json.dumps([named, settings]))
    if key not in _PATHS:
        _PATHS[key] = np.array([s.w0, *trajectory(s, parts(*named), **settings)])
    return _PATHS[key]


def uneven(**changes):
    """Six clients of 3 to 14 samples, three a round: they differ in steps."""
    return reference.problem(**changes)


def even(**changes):
    """Six clients of eight samples each."""
    return replace(reference.problem(**changes), rows=np.split(np.arange(48), 6))


def everyone(s):
    return replace(s, sampled=len(s.rows))


def same(one, other):
    assert np.abs(one[-1] - one[0]).max() > 0.1, "the problem must move"
    np.testing.assert_allclose(one, other, **NEAR)


def one_step(s, *named, **settings):
    """`path` with one step a round in place of the reference's epochs."""
    return path(replace(s, epochs=None), *named, steps=1, **settings)


def different(one, other):
    assert np.abs(one - other).max() > 1e-4


def digits(*named, **settings):
    """The flat models of every round of a small network with body, head and projection."""
    return _digits(json.dumps([named, settings]))


@functools.cache
def _digits(choices):
    named, settings = json.loads(choices)
    spec = RunSpec(
        **{
            **{"dataset": "digits", "model": {"mlp": {"hidden": 8}}, "projection": 6},
            **{"partition": {"dy": {"alpha": 0.5}}, "clients": 6, "participation": 0.5},
            **{"rounds": 4, "epochs": 2, "batch": 10, "validation": 0.2, "precision": "float64"},
            **{"lr": 0.3, "lr_decay": 0.9, "weight_decay": 1e-3, "clip": 1.0},
            **settings,
        }
    )
    film = Film()
    machine = Machine(device="cpu", workers=1)
    run(spec, data=few_digits(), parts=(*parts(*named), film), machine=machine)
    return np.array([w.numpy() for w in film.frames])


# --- 1, 2: momenta of the server ------------------------------------------------------------------


@pytest.mark.parametrize("beta", [0.3, 0.9])
def test_fedadc_blue_is_fedcm_at_a_longer_rate(beta):
    s = even(**PLAIN, lr=0.05)
    blue = path(s, ("fedadc", {"beta": beta, "variant": "blue"}))
    fedcm = ("fedcm", {"alpha": 1 - beta})
    same(blue, path(replace(s, lr=0.05 / (1 - beta)), fedcm))
    different(blue, path(s, fedcm))  # not at the same rate


@pytest.mark.parametrize(
    ("make", "settings"),
    [(uneven, PLAIN), (even, {}), (even, {**PLAIN, **CLIPPED})],
    ids=["unequal steps", "weight decay", "clip"],
)
def test_that_needs_equal_steps_and_neither_weight_decay_nor_clip(make, settings):
    clip = {k: v for k, v in settings.items() if k in CLIPPED}
    s = make(lr=0.05, **{k: v for k, v in settings.items() if k in PLAIN})
    blue = path(s, ("fedadc", {"beta": 0.9, "variant": "blue"}), **clip)
    different(blue, path(replace(s, lr=0.05 / (1 - 0.9)), ("fedcm", {"alpha": 1 - 0.9}), **clip))


@pytest.mark.parametrize("variant", ["red", "blue"])
@pytest.mark.parametrize("alpha", [1.0, 0.6])
def test_fedadc_without_local_share_is_slow_momentum(alpha, variant):
    s, beta = uneven(lr=0.1), 0.8
    fedadc = ("fedadc", {"variant": variant, "beta_l": 0.0, "beta_g": beta, "alpha": alpha})
    same(
        path(s, fedadc, **CLIPPED),
        path(s, ("slowmo", {"beta": beta, "alpha": alpha}), **CLIPPED),
    )
    different(path(s, fedadc), path(s, ("fedadc", {"beta": beta, "alpha": alpha})))


def test_with_one_step_fedadc_blue_is_slow_momentum():
    s, beta = uneven(lr=0.1), {"beta": 0.8}
    blue = one_step(s, ("fedadc", {**beta, "variant": "blue"}), **CLIPPED)
    same(blue, one_step(s, ("slowmo", beta), **CLIPPED))
    different(blue, one_step(s, ("fedadc", {**beta, "variant": "red"}), **CLIPPED))


def test_double_momentum_without_it_is_fedadc_blue():
    s = uneven(lr=0.1)
    double = path(s, ("fedadcdouble", {"beta": 0.8, "phi": 0.0}))
    same(double, path(s, ("fedadc", {"beta": 0.8, "variant": "blue"})))


# --- 3, 4: duals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("pull", ["gradient", "decay"])
@pytest.mark.parametrize("rule", ["fedsp", "feddyn"])
@pytest.mark.parametrize("a", [1.0, 0.3])
def test_fedspeed_without_ascent_is_feddyn_at_full_participation(a, rule, pull):
    s, alpha = everyone(uneven()), 0.2
    speed = {"rho": 0.0, "lam": 1 / alpha, "a": a, "rule": rule, "pull": pull}
    dyn = {"alpha": alpha, "by_size": False, "pull": pull}
    same(path(s, ("fedspeed", speed), **CLIPPED), path(s, ("feddyn", dyn), **CLIPPED))


def test_with_partial_participation_that_needs_feddyns_rule():
    s, alpha = uneven(), 0.2
    dyn = path(s, ("feddyn", {"alpha": alpha, "by_size": False}))
    speed = {"rho": 0.0, "lam": 1 / alpha}
    same(dyn, path(s, ("fedspeed", {**speed, "rule": "feddyn"})))
    different(dyn, path(s, ("fedspeed", speed)))


@pytest.mark.parametrize("make", [uneven, lambda: everyone(uneven())], ids=["half", "all"])
def test_feddyns_first_step_is_fedproxs_made_longer(make):
    s, alpha = make(), 0.5
    dyn = path(s, ("feddyn", {"alpha": alpha, "by_size": False}))
    prox = path(s, ("fedprox", {"mu": alpha}))
    longer = 1 + s.sampled / len(s.rows)
    np.testing.assert_allclose(dyn[1] - dyn[0], longer * (prox[1] - prox[0]), **NEAR)


def test_sizes_do_not_matter_to_feddyn_where_they_are_equal():
    s = even()
    same(path(s, ("feddyn", {"by_size": True})), path(s, ("feddyn", {"by_size": False})))
    s = uneven()
    different(path(s, ("feddyn", {"by_size": True})), path(s, ("feddyn", {"by_size": False})))


def test_fedacg_without_momentum_is_fedprox():
    s = uneven()
    same(path(s, ("fedacg", {"lam": 0.0, "beta": 0.5})), path(s, ("fedprox", {"mu": 0.5})))


# --- 5: variance reduction ------------------------------------------------------------------------


def test_fedvarp_with_everyone_is_fedavg():
    s = everyone(uneven())
    same(path(s, ("fedvarp", {})), path(s))
    different(path(uneven(), ("fedvarp", {})), path(uneven()))


@pytest.mark.parametrize(
    "method",
    [
        *(("scaffold", {"option": option}) for option in ("I", "II")),
        ("fedvarp", {}),
        ("fedgaonetrip", {"beta": 1.0}),
        ("slowmo", {"beta": 0.8}),
        ("fedadc", {"beta": 0.8}),
    ],
    ids=str,
)
def test_first_rounds_that_are_fedavgs(method):
    s = uneven(rounds=1)
    same(path(s, method), path(s))
    longer = uneven(rounds=5)
    different(path(longer, method), path(longer))


@pytest.mark.parametrize("option", ["I", "II"])
def test_scaffold_with_one_client_is_fedavg(option):
    s = replace(uneven(), sampled=1)
    s = replace(s, rows=[s.rows[-1]])
    same(path(s, ("scaffold", {"option": option})), path(s))


@pytest.mark.parametrize("option", ["I", "II"])
def test_scaffold_of_equal_clients_is_fedavg(option):
    # all c_i = c: every client holds copies of the same samples, and takes them all at once
    s = everyone(uneven(batch=None))
    copied = np.tile(s.rows[-1], 3)
    blocks = np.split(np.arange(len(copied)), 3)
    s = replace(s, x=s.x[copied], y=s.y[copied], rows=blocks, sampled=3, epochs=1)
    same(path(s, ("scaffold", {"option": option})), path(s))


# --- 6, 7, 11: distillation from the global model -------------------------------------------------


def test_one_teacher_four_ways():
    gkd = {"coef": 0.7, "M": 1, "T": 1.0}
    asd = {"lam": 0.7, "tau": 1.0, "weights": "uniform"}
    vote = {"lam": 0.7, "M": 1, "T": 1.0}
    want = digits(("fedgkd", gkd))
    np.testing.assert_allclose(digits(("asd", asd)), want, **NEAR)
    np.testing.assert_allclose(digits(("fedgkdvote", vote)), want, **NEAR)
    different(want, digits())
    different(want, digits(("fedgkd", {**gkd, "skip_first": True})))


def test_one_teacher_on_the_regression():
    s = uneven()
    gkd = path(s, ("fedgkd", {"coef": 2.0, "M": 1}), **CLIPPED)
    same(gkd, path(s, ("asd", {"lam": 2.0, "tau": 1.0, "weights": "uniform"}), **CLIPPED))


@pytest.mark.parametrize(("tau", "scale"), [(1.0, True), (1.0, False), (2.0, False)])
def test_fedntd_is_the_plug_in_with_equal_weights(tau, scale):
    ntd = {"beta": 3.0, "tau": tau, "scale_tau": scale}
    asd = {"lam": 3.0, "tau": tau, "divergence": "ntd", "weights": "uniform"}
    s = uneven()
    same(path(s, ("fedntd", ntd), **CLIPPED), path(s, ("asd", asd), **CLIPPED))
    np.testing.assert_allclose(digits(("fedntd", ntd)), digits(("asd", asd)), **NEAR)


FROM_THE_GLOBAL_MODEL = [
    ("fedntd", {"beta": 5.0}),
    ("fedgkd", {"coef": 5.0, "M": 1}),
    *(("asd", {"lam": 30.0, "divergence": name}) for name in ("kl", "reverse", "js", "ntd")),
    ("asd", {"lam": 30.0, "weights": "uniform"}),
]


@pytest.mark.parametrize("method", FROM_THE_GLOBAL_MODEL, ids=str)
def test_with_one_step_a_distillation_is_fedavg(method):
    np.testing.assert_allclose(digits(method, **ONE), digits(**ONE), **NEAR)
    different(digits(method), digits())


ONE = {"epochs": None, "steps": 1, "rounds": 10}


@pytest.mark.parametrize(
    "method",
    [
        ("fedntd", {"beta": 0.3, "mix": "convex"}),
        ("selfconfidence", {}),
        ("fedgkd", {"coef": 5.0, "M": 3}),
    ],
    ids=str,
)
def test_and_these_are_not(method):
    different(digits(method, **ONE), digits(**ONE))


ON_A_BASE = [("fedprox", {"mu": 0.5}), ("feddyn", {}), ("feddisco", {}), ("scaffold", {})]
DIVERGENCES = [{"divergence": name} for name in ("kl", "reverse", "js", "ntd")]


@pytest.mark.parametrize("base", ON_A_BASE, ids=str)
@pytest.mark.parametrize("how", DIVERGENCES, ids=str)
def test_on_a_base_a_distillation_of_strength_zero_is_the_base_bit_for_bit(base, how):
    want = digits(base)
    assert np.array_equal(digits(base, ("asd", {"lam": 0.0, **how})), want)
    different(digits(base, ("asd", {"lam": 5.0, **how})), want)


@pytest.mark.parametrize("base", ON_A_BASE, ids=str)
@pytest.mark.parametrize("how", DIVERGENCES, ids=str)
def test_on_a_base_a_distillation_with_one_step_is_the_base(base, how):
    found = digits(base, ("asd", {"lam": 30.0, **how}), **ONE)
    np.testing.assert_allclose(found, digits(base, **ONE), **NEAR)


@pytest.mark.parametrize("base", ["fedsam", "fedspeed"])
def test_nor_on_a_base_that_takes_its_gradient_elsewhere(base):
    different(digits((base, {}), ("asd", {}), **ONE), digits((base, {}), **ONE))


# --- 8: momentum that survives the round ----------------------------------------------------------


def test_mfl_with_one_client_is_uninterrupted_momentum():
    s = replace(uneven(decay=1.0, lr=0.1), sampled=1)
    s = replace(s, rows=[s.rows[-1]])
    w = torch.tensor(s.w0, requires_grad=True)
    optimiser = torch.optim.SGD([w], s.lr, momentum=0.9, weight_decay=s.weight_decay)
    wanted = [s.w0]
    for t in range(s.rounds):
        for rows in batches(0, t, 0, torch.as_tensor(s.rows[0]), s.batch, s.epochs, None):
            w.grad = torch.as_tensor(s.gradient(w.detach().numpy(), rows.numpy()))
            optimiser.step()
        wanted.append(w.detach().numpy().copy())
    same(path(s, ("mfl", {"beta": 0.9})), np.array(wanted))


@pytest.mark.parametrize(("reading", "dampened"), [("r2prime", False), ("r2", True)])
def test_rmfl_with_one_step_is_mfl(reading, dampened):
    s = uneven(rounds=10)
    mfl = one_step(s, ("mfl", {"dampened": dampened}))
    same(mfl, one_step(s, ("rmfl", {"reading": reading, "dampened": dampened})))
    different(mfl, one_step(s, ("rmfl", {"reading": "r1", "dampened": dampened})))


# --- 9: FedDPC ------------------------------------------------------------------------------------


def test_feddpc_without_its_two_ideas_is_two_sided_fedavg():
    s = uneven()
    none = {"projection": False, "scaling": "none"}
    same(path(s, ("feddpc", none)), path(s))
    same(path(s, ("feddpc", {**none, "kappa": 1.4})), path(s, ("twosided", {"kappa": 1.4})))


@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0, -2.0])
def test_feddpcs_first_step_is_fedavgs_times_lambda_plus_one(lam):
    s = uneven(rounds=1)
    dpc, plain = path(s, ("feddpc", {"lam": lam})), path(s)
    np.testing.assert_allclose(dpc[1] - dpc[0], (lam + 1) * (plain[1] - plain[0]), **NEAR)
    one = path(s, ("feddpc", {"lam": lam, "first_round": "one"}))
    np.testing.assert_allclose(one, plain, **NEAR)


# --- 10: what is FedAvg when it is switched off ---------------------------------------------------

OFF = [
    ("fedexp", {"eps": 1e30}),
    ("fedsam", {"rho": 0.0}),
    ("fedga", {"beta": 0.0}),
    ("fedgaonetrip", {"beta": 0.0}),
    ("fedrs", {"alpha": 1.0}),
    ("feddistill", {"coef": 0.0}),
    ("fedprox", {"mu": 0.0}),
    ("fedadc", {"beta": 0.0, "variant": "red"}),
    ("fedadc", {"beta": 0.0, "variant": "blue"}),
    ("fedcm", {"alpha": 1.0}),
    ("slowmo", {"beta": 0.0}),
    ("mimelite", {"beta": 0.0}),
    ("fedacg", {"lam": 0.0, "beta": 0.0}),
    ("fedgkd", {"coef": 0.0}),
    ("fedntd", {"beta": 0.0}),
    ("asd", {"lam": 0.0}),
    ("selfconfidence", {"lam": 0.0}),
]


@pytest.mark.parametrize("method", OFF, ids=str)
def test_switched_off_it_is_fedavg(method):
    for s in (uneven(), uneven(by_samples=True)):
        same(path(s, method, **CLIPPED), path(s, **CLIPPED))


def test_feddisco_switched_off_is_fedavg_weighted_by_samples():
    off = path(uneven(), ("feddisco", {"a": 0.0, "b": 0.0}))
    same(off, path(uneven(by_samples=True, work=None)))
    different(off, path(uneven()))


@pytest.mark.parametrize(
    "method", [("moon", {"mu": 0.0}), ("fedgen", {"a": 0.0}), ("fedgkdvote", {"lam": 0.0})], ids=str
)
def test_what_needs_a_network_or_held_out_data_can_be_switched_off_too(method):
    np.testing.assert_allclose(digits(method), digits(), **NEAR)


# --- what the others have in common ---------------------------------------------------------------


@pytest.mark.parametrize(
    "method", [("fedprox", {"mu": 3.0}), ("fedacg", {"lam": 0.0, "beta": 3.0})]
)
def test_with_one_step_a_pull_to_the_start_is_fedavg(method):
    s = uneven()
    same(one_step(s, method), one_step(s))
    different(path(s, method), path(s))


def test_on_a_linear_loss_sharpness_does_not_matter(cpu):
    # loss −w·x y: its gradient is −x y everywhere
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    data = Dataset("linear", x, y, x, y, classes=0)
    spec = RunSpec(clients=3, rounds=3, batch=2, precision="float64")
    share = {"data": data, "model": torch.nn.Linear(2, 1, bias=False).double()}
    share |= {"partition": blocks([4, 4, 4]), "loss": lambda z, y: -z.squeeze(-1) * y}
    plain = run(spec, machine=cpu, **share).weights
    sam = run(spec, machine=cpu, parts=parts(("fedsam", {})), **share).weights
    torch.testing.assert_close(sam, plain, rtol=1e-10, atol=1e-10)
