"""What holds for every probe that is registered; a new file in probes/ is covered as it lands."""

import functools

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from fedbench import Dataset, FedbenchError, Machine, RunSpec, run
from fedbench.base import registry
from fedbench.engine.assemble import assemble
from fedbench.engine.checkpoint import Checkpoints, save_checkpoint
from fedbench.engine.training import Training
from fedbench.models.architecture import BodyHead

PROBES = sorted(registry.entries("probe"))
ANY_DATA = ("angles", "objective", "regression", "spectrum", "steps")
WITH_CLASSES = [n for n in PROBES if n not in ANY_DATA]
OTHER = {"binary": 2, "regression": 0}  # classes, where it is not three that a probe looks at

# Options that make a probe quick, and those it needs to see something here
FEW = {
    "spectrum": {"samples": 40, "probes": 3, "steps": 5, "points": 8},
    "embedding": {"samples": 30, "perplexity": 5.0},
    "regions": {"grid": 5},
    "dissimilarity": {"lams": [0.0, 3.0], "clients": 1},
}

# What each promises: columns of the history, columns of its table, rounds that have rows
COLUMNS = {
    "binary": "auc precision_score recall_score specificity",
    "regression": "mse mae r2",
    "angles": (
        "angle_mean angle_share_obtuse s_mean residual_variance scaled_variance delta_variance "
        "update_cosine update_variance residual_relative_variance scaled_relative_variance "
        "delta_relative_variance update_relative_variance"
    ),
    "calibration": (
        "personal_global personal_none personal_prox personal_distil personal_gain_lowest "
        "personal_gain_highest personal_clients"
    ),
    "changes": "",
    "dissimilarity": "dissimilarity dissimilarity_local",
    "embedding": "local_accuracy silhouette silhouette_local",
    "locals": "local_accuracy",
    "objective": "objective gradient_variance",
    "perclient": "client_accuracy client_worst client_spread",
    "personal": "personal_accuracy personal_worst personal_gain",
    "regions": "",
    "spectrum": "hessian_top hessian_trace hessian_mean_abs",
    "steps": " ".join(
        f"gradient_{name} gradient_{name}_slope"
        for name in ("cosine", "projection", "spread", "bias")
    )
    + " update_similarity",
}
TABLES = {
    "binary": "label predicted count",
    "regression": "",
    "angles": "round client angle length along residual scaled s",
    "calibration": "client kind accuracy",
    "changes": "round client label count held before after change",
    "dissimilarity": "lam weights model dissimilarity",
    "embedding": "model x y label predicted accuracy",
    "locals": "",
    "objective": "",
    "perclient": "client accuracy",
    "personal": "",
    "regions": "model kind x1 x2 predicted label",
    "spectrum": "eigenvalue density",
    "steps": "round client step cosine projection spread bias",
}

SETTINGS = {
    **{"clients": 4, "participation": 0.5, "rounds": 3, "batch": 16, "steps": 2, "lr": 0.05},
    "eval_every": 2,
}


def net(normed, outputs=3):
    torch.manual_seed(0)
    body = [nn.Linear(2, 6), *([nn.BatchNorm1d(6)] if normed else []), nn.Tanh()]
    return BodyHead(nn.Sequential(*body), nn.Linear(6, outputs))


def points(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-4, 4, (n, 2)).astype(np.float32)
    return x, (x[:, 0] > 0).astype(np.int64) + (x[:, 1] > 1)


def objects(normed=False, classes=3):
    """A plane of three classes: a problem that nearly every probe can look at."""
    sets = [points(160, 0), points(60, 1)]
    if classes < 3:
        sets = [(x, np.minimum(y, 1) if classes else y.astype(x.dtype)) for x, y in sets]
    data = Dataset("plane", *sets[0], *sets[1], classes=classes)
    return {"data": data, "model": net(normed, classes or 1)}


def spec_of(probe, **settings):
    watch = [{probe: FEW[probe]} if probe in FEW else probe] if probe else []
    split = "iid" if OTHER.get(probe) == 0 else {"dy": {"alpha": 1.0}}
    return RunSpec(**{**SETTINGS, "partition": split, "watch": watch, **settings})


def seen(probe, normed=False, **settings):
    things = objects(normed, OTHER.get(probe, 3))
    return run(spec_of(probe, **settings), machine=Machine(device="cpu", workers=1), **things)


@functools.cache
def plain(normed=False, parts=(), probe=""):
    """The run without the probe, on its data."""
    spec = spec_of(probe, parts=list(parts)).changed(watch=())
    things = objects(normed, OTHER.get(probe, 3))
    return run(spec, machine=Machine(device="cpu", workers=1), **things)


CASES = [(False, ()), (False, ("fedprox", "asd")), (True, ("feddyn",))]


@pytest.mark.parametrize(("normed", "parts"), CASES)
@pytest.mark.parametrize("probe", PROBES)
def test_it_changes_no_bit_of_the_run_and_writes_what_it_promises(probe, normed, parts):
    parts = tuple(part for part in parts if part != "asd" or OTHER.get(probe, 3))
    watched, drawn = seen(probe, normed, parts=list(parts)), torch.get_rng_state()
    usual = plain(normed, parts, probe if probe in OTHER else "")
    assert torch.equal(watched.weights, usual.weights)
    assert all(torch.equal(v, usual.buffers[k]) for k, v in watched.buffers.items())
    own = watched.history.filter(regex="^(?!.*_seconds$)").columns
    common = [name for name in own if name in usual.history]
    pd.testing.assert_frame_equal(watched.history[common], usual.history[common])
    assert set(COLUMNS[probe].split()) <= set(own) - set(common)
    assert watched.history[COLUMNS[probe].split()].iloc[-1].notna().all()
    table = watched.tables.get(probe, pd.DataFrame())
    assert set(TABLES[probe].split()) <= set(table.columns)
    assert len(table) or not TABLES[probe]
    net(normed, OTHER.get(probe, 3) or 1)  # seeds torch's shared generator as it was before the run
    assert torch.equal(torch.get_rng_state(), drawn)


def kill(spec, out, rounds, monkeypatch):
    """Run until a checkpoint after so many rounds."""

    def checkpoint(self, progress, over):
        save_checkpoint(self._file.parent, progress.state() | {"id": self._problem.identity.id})
        if progress.round == rounds:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoints, "after_round", checkpoint)
        with pytest.raises(KeyboardInterrupt):
            run(spec, out=out, machine=Machine(device="cpu", workers=1))


@pytest.mark.parametrize("probe", [name for name in PROBES if name not in {"regions", *OTHER}])
def test_a_killed_run_ends_with_the_same_columns_and_rows(cpu, probe, tmp_path, monkeypatch):
    few = {"model": {"mlp": {"hidden": 4}}, "clients": 3, "participation": 1.0, "epochs": None}
    spec = spec_of(probe, **few, batch=64)
    whole = run(spec, machine=cpu)
    for rounds in (2, 3):  # before and after the last round is watched
        out = tmp_path / str(rounds)
        kill(spec, out, rounds, monkeypatch)
        resumed = run(spec, out=out, machine=cpu)
        names = COLUMNS[probe].split()
        pd.testing.assert_frame_equal(resumed.history[names], whole.history[names])
        if TABLES[probe]:
            pd.testing.assert_frame_equal(resumed.tables[probe], whole.tables[probe])


@pytest.mark.parametrize("probe", PROBES)
def test_a_run_that_diverges_ends_as_diverged(probe):
    result = seen(probe, lr=1e38, rounds=4)
    assert result.status == "diverged"


def refusal(probe, data=None, model=None, **settings):
    things = objects() | {k: v for k, v in {"data": data, "model": model}.items() if v is not None}
    with pytest.raises(FedbenchError) as caught:
        run(spec_of(probe, **settings), machine=Machine(device="cpu", workers=1), **things)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def numbers():
    x = np.ones((80, 2), np.float32)
    return Dataset("numbers", x, x[:, 0], x, x[:, 0], classes=0)


@pytest.mark.parametrize("probe", WITH_CLASSES)
def test_data_without_classes_are_refused_before_any_training(probe, monkeypatch):
    monkeypatch.setattr(Training, "_round", None)
    said = refusal(probe, numbers(), nn.Linear(2, 1), partition="iid")
    assert "classes" in said


class Rounded(torch.autograd.Function):
    """Rounds, and passes gradients through; written without what forward mode needs."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g


class Rounds(nn.Module):
    """Calls it."""

    def forward(self, x):
        return Rounded.apply(x)


class Power(nn.Module):
    """Its second derivative is no number below 0: ∞ · 0."""

    def forward(self, x):
        return (x * (x > 0)) ** 1.5


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        (
            [Rounds()],
            "cannot differentiate it twice (RuntimeError: In order to use an autograd",
        ),
        # forward mode takes mean and variance of the batch for constants
        ([nn.BatchNorm1d(6, track_running_stats=False), nn.Tanh()], "% apart, so a layer draws"),
        ([Power()], "are nan% apart"),
    ],
)
def test_a_network_without_the_derivatives_is_refused_before_any_training(
    layers, words, monkeypatch
):
    monkeypatch.setattr(Training, "_round", None)
    said = refusal("spectrum", model=nn.Sequential(nn.Linear(2, 6), *layers, nn.Linear(6, 3)))
    assert said.startswith("watch: spectrum cannot measure this network: PyTorch")
    assert words in said
    assert "leave the probe out" in said


@pytest.mark.parametrize("probe", ["embedding", "calibration"])
def test_a_model_without_a_head_is_refused(probe):
    assert "body" in refusal(probe, model=nn.Linear(2, 3))


def test_regions_are_of_the_plane():
    x = np.ones((80, 3), np.float32)
    flat = Dataset("space", x, np.arange(80) % 3, x, np.arange(80) % 3, classes=3)
    assert "'space' have shape (3,), not (2,)" in refusal("regions", flat, nn.Linear(3, 3))


def test_a_round_that_never_comes_is_refused(cpu, refuses):
    spec = spec_of("changes").changed(watch=[{"changes": {"at": 4}}])
    with refuses("changes at = 4; there are 3 rounds"):
        run(spec, machine=cpu, **objects())


def test_probes_are_built_before_a_plan_runs(cpu, refuses):
    spec = spec_of("").changed(watch=[{"spectrum": {"steps": 1}}])
    with refuses("probe 'spectrum': steps = 1 is not allowed"):
        Training(assemble(spec, objects(), cpu, None), cpu)
