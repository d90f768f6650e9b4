"""Clients trained in parallel threads: the same bits for any number, and one where they must be."""

import threading
from multiprocessing import get_context

import pytest
import torch

from fedbench import Machine, RunSpec, run
from fedbench.engine.machine import in_threads

SMALL = {"clients": 12, "participation": 0.5, "rounds": 3, "lr": 0.1, "batch": 16}
CASES = {
    "fedavg": {"model": {"lenet5": {"padding": 2}}},
    "momentum": {"parts": ["mfl"], "model": {"lenet5": {"padding": 2}}},
    "two passes": {"parts": ["fedsam", "scaffold"]},
    "teacher and state": {"parts": ["moon", "feddyn"], "projection": 8},
    "batch norm": {"model": {"rn20": {"norm": "bn", "width": 0.25, "blocks": 1}}},
    "augmented": {"model": "lenet5", "dataset": "digits", "augment": {"crop": 1}},
}
CASES["augmented"]["model"] = {"lenet5": {"padding": 2}}


def trained(workers, **settings):
    machine = Machine(device="cpu", workers=workers, keep_model=True)
    return run(RunSpec(**SMALL | {"partition": {"dr": {"alpha": 0.3}}} | settings), machine=machine)


@pytest.mark.parametrize("case", CASES)
def test_any_number_of_workers_gives_the_same_bits(case):
    one, two, four = (trained(n, **CASES[case]) for n in (1, 2, 4))
    assert [r.record["workers"] for r in (one, two, four)] == [1, 2, 4]
    for other in (two, four):
        assert torch.equal(one.weights, other.weights)
        scores = ["loss", "train_loss", "accuracy"]
        assert one.history[scores].equals(other.history[scores])


def test_threads_share_the_work_and_keep_its_order():
    def slow(n):
        seen.add(threading.get_ident())
        barrier.wait(timeout=30)  # passed only where three items are worked on at once
        return n * n

    seen, barrier = set(), threading.Barrier(3)
    assert in_threads(3, slow, [3, 1, 2]) == [9, 1, 4]
    assert len(seen) == 3


def test_no_thread_ends_with_its_run():
    # where one ends while another process is forked, MKL leaves that process waiting for ever
    trained(2, **CASES["fedavg"])
    before = set(threading.enumerate())
    trained(2, **CASES["fedavg"])
    assert set(threading.enumerate()) == before


def test_a_forked_process_has_threads_of_its_own():
    barrier = threading.Barrier(2)
    in_threads(2, lambda _: barrier.wait(timeout=30), [1, 2])  # both threads are there
    context = get_context("fork")
    answers = context.SimpleQueue()
    process = context.Process(target=lambda: answers.put(in_threads(2, str, [1, 2])), daemon=True)
    process.start()
    process.join(timeout=60)
    assert process.exitcode == 0
    assert answers.get() == ["1", "2"]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"parts": [{"mfl": {"buffer": "chained"}}]}, "MFL hands its buffer from client to client"),
        (
            {
                "dataset": {"topics": {"length": 8}},
                "model": {
                    "distilbert": {
                        "weights": "random", "layers": 1, "heads": 2, "dim": 8, "hidden": 8,
                    }
                },
                "rounds": 1,
            },
            "dropout draws from one generator, which all threads would share",
        ),
    ],
)  # fmt: skip
def test_clients_that_depend_on_each_other_have_one_worker_and_the_record_says_why(
    settings, reason
):
    record = trained(2, **settings).record
    assert (record["workers"], record["one_worker_because"]) == (1, reason)


def test_an_error_in_a_thread_ends_the_run():
    def loss(z, y):
        raise ArithmeticError("no loss")

    with pytest.raises(ArithmeticError, match="no loss"):
        run(RunSpec(**SMALL), machine=Machine(device="cpu", workers=2), loss=loss)


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_torch_has_as_many_threads_as_before_afterwards(two_threads):
    trained(2)
    assert torch.get_num_threads() == 2


def test_what_the_server_trains_has_the_same_bits_with_any_number_of_workers(two_threads):
    spec = RunSpec(
        dataset="synthetic", model="mlp", parts=["fedgen"], clients=3, participation=1.0, rounds=3,
        batch=20, epochs=2, optimizer="adam", lr=0.001, seed=18,
    )  # fmt: skip
    one, two = (run(spec, machine=Machine(device="cpu", workers=n)).weights for n in (1, 2))
    assert torch.equal(one, two)
