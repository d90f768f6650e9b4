"""Local training of a round, repeated outside the run, is what the run did."""

from dataclasses import dataclass

import pytest
import torch

from fedbench import Machine, Part, RunSpec
from fedbench.engine.assemble import assemble
from fedbench.engine.probe import Probe
from fedbench.engine.training import Training
from fedbench.methods.fedprox import FedProx
from fedbench.methods.fedsam import FedSAM
from fedbench.methods.mfl import MFL
from fedbench.probes.local_steps import replay
from tests.few import few_digits
from tests.methods.one_weight import LINE, close, objects
from tests.methods.test_conformance import METHODS, few, spec_of


@dataclass(frozen=True)
class Again(Probe):
    """Replays every round twice."""

    def table(self, s):
        for _ in range(2):
            replies = replay(s.problem, s.r, s.clients)
            for c, reply, (again, gradients, weights) in zip(
                s.clients, s.replies, replies, strict=True
            ):
                assert torch.equal(reply.w, again.w)
                assert torch.equal(reply.delta(s.r.w), again.delta(s.r.w))
                assert gradients.shape == weights.shape == (len(c.rows), len(s.r.w))
        return []


def watched(spec, probe, **things):
    """The engine of a run watched by a probe that has no name."""
    problem = assemble(
        spec.changed(watch=["locals"]), things, Machine(device="cpu", workers=1), None
    )
    return Training(problem, Machine(device="cpu", workers=1), probes=[probe])


# MFL hands its buffer from client to client: its clients share what they write to
@pytest.mark.parametrize(
    "case", [*(few(name, {}) for name in METHODS), {"mfl": {"buffer": "chained"}}], ids=str
)
def test_every_method_repeats_itself_bit_by_bit(case):
    spec = spec_of(case, rounds=2, steps=2, partition="iid", eval_every=2)
    result = watched(spec, Again(), data=few_digits()).run()
    assert result.status == "finished"


@dataclass(frozen=True)
class Gradients(Probe):
    """Keeps the gradients of the last round."""

    def table(self, s):
        return [{"g": float(g)} for _, found, _ in replay(s.problem, s.r, s.clients)
                for g in found.flatten()]  # fmt: skip


def seen(clients, *parts, **settings):
    spec = RunSpec(**{**LINE, "clients": len(clients), "steps": 2, **settings})
    engine = watched(spec, Gradients(), parts=parts, **objects(clients))
    engine.run()
    return [row["g"] for row in engine.progress.tables[0]]


def test_gradients_by_hand():
    # gradient w − a: client 0 (a = 4): −4, then at 0.4 −3.6; client 1 (a = −2): 2, then at −0.2 1.8
    assert close(seen([[4.0], [-2.0]]), -4, -3.6, 2, 1.8)


def test_they_are_those_of_the_loss_alone():
    # decay 1: the second step is −3.6 + 0.4, to 0.72; FedProx's pull is as long
    assert close(seen([[4.0]], weight_decay=1.0, steps=3), -4, -3.6, -3.28)
    assert close(seen([[4.0]], FedProx(1.0), steps=3), -4, -3.6, -3.28)


def test_of_two_gradients_a_step_the_first_counts():
    # SAM: the second, at w − 0.5 (uphill), is −4.5: the step goes to 0.45
    assert close(seen([[4.0]], FedSAM(0.5)), -4, -3.55)


@dataclass(frozen=True)
class Once(Part):
    """Differentiates twice in the first step only."""

    def grad(self, inner, w, t):
        return inner(w) + (inner(w) if t.k == 0 else 0)


def test_unequal_numbers_of_gradients_are_refused(refuses):
    with refuses("3 gradients in 2 steps"):
        seen([[4.0]], Once())


def test_the_states_a_run_keeps_are_not_touched():
    spec = spec_of({"mfl": {"buffer": "client_stale"}}, momentum=0.0)
    plain = watched(spec, Gradients.__base__(), data=few_digits())
    seen_ = watched(spec, Again(), data=few_digits())
    one, other = plain.run(), seen_.run()
    assert torch.equal(one.weights, other.weights)
    assert isinstance(plain.parts[0], MFL)
    for client in plain.progress.clients:
        a, b = plain.progress.clients[client], seen_.progress.clients[client]
        assert torch.equal(a[0]["v"], b[0]["v"])
