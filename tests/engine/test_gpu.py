"""A GPU computes what the CPU does, the same bits each time; skipped where there is none."""

import warnings
from dataclasses import replace

import pytest
import torch

from fedbench import Machine, RunSpec, run
from fedbench.engine.assemble import assemble
from fedbench.engine.training import Training
from fedbench.store import RunFolder
from tests.few import few_digits
from tests.methods.test_conformance import CASES, spec_of

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no GPU")
CPU, GPU = Machine(device="cpu", workers=1), Machine(device="cuda")
IMAGES = RunSpec(
    dataset="digits", model={"scnn": {"side": 32}}, clients=4, participation=0.5, rounds=3,
    batch=16, lr=0.05, normalise=True, augment={"crop": 2},
)  # fmt: skip
# with wide layers; with batch norm
MODELS = [{"acnn": {"side": 32, "width": 0.25}}, {"rn20": {"width": 0.5, "blocks": 1}}]


def on(machine, spec, **options):
    return run(spec, machine=machine, data=few_digits(), **options)


@pytest.mark.parametrize("case", [pytest.param(case, id=str(case)) for case in CASES])
def test_every_method_ends_at_the_same_weights_as_on_the_cpu(case):
    spec = spec_of(case)
    found, wanted = on(GPU, spec), on(CPU, spec)
    assert found.record["device"] != "cpu"
    torch.testing.assert_close(found.weights.cpu(), wanted.weights, rtol=1e-8, atol=1e-9)
    assert found.record["samples"] == wanted.record["samples"]


@pytest.mark.parametrize("model", [{"scnn": {"side": 32}}, *MODELS])
def test_float32_is_float32(model):
    """TF32, which PyTorch takes for convolutions unless told, would be some 1e-3 away."""
    spec = IMAGES.changed(model=model)
    moved = on(CPU, spec).weights - assemble(spec, {"data": few_digits()}, CPU, None).fed.start.w
    difference = on(GPU, spec).weights.cpu() - on(CPU, spec).weights
    assert difference.norm() < 1e-4 * moved.norm()


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("model", MODELS)
def test_the_same_run_has_the_same_bits(model, precision):
    spec = IMAGES.changed(model=model, precision=precision)
    assert torch.equal(on(GPU, spec).weights, on(GPU, spec).weights)


def test_a_killed_run_goes_on_to_the_same_bits(tmp_path):
    spec = IMAGES.changed(parts=["scaffold"], momentum=0.9)
    whole = on(GPU, spec)
    problem = assemble(spec, {"data": few_digits()}, GPU, None)
    machine = replace(GPU, checkpoint_minutes=1e-9)
    first = Training(problem, machine, folder=RunFolder(tmp_path))
    first.round()
    second = Training(problem, machine, folder=RunFolder(tmp_path))
    assert second.progress.round == 1
    assert torch.equal(second.run().weights, whole.weights)


def test_a_round_waits_for_the_gpu_a_few_times_whatever_the_number_of_steps():
    """PyTorch warns of each wait: batches go there in one copy per client, losses stay there."""

    def waits(epochs):
        spec = IMAGES.changed(epochs=epochs, eval_every=10, rounds=10)
        training = Training(assemble(spec, {"data": few_digits()}, GPU, None), GPU)
        training.round()
        torch.cuda.set_sync_debug_mode("warn")
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                training.round()
        finally:
            torch.cuda.set_sync_debug_mode("default")
        return [f"{w.filename}:{w.lineno}" for w in caught if "synchroniz" in str(w.message)]

    short, long = waits(1), waits(5)
    assert len(long) == len(short), (short, long)
