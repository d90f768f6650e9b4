"""Records a run: every round as the server saw it, every client's gradients, all states."""

from dataclasses import dataclass, field

import torch

from fedbench import Machine, Part, RunSpec
from fedbench.engine.assemble import assemble
from fedbench.engine.training import Training
from tests.methods.one_weight import LINE, objects


@dataclass(frozen=True)
class Ledger(Part):
    """Put it first: it sums the gradients that the other parts have not touched."""

    rounds: list = field(default_factory=list)

    def begin(self, w, t):
        t.scratch |= {"g": torch.zeros_like(w), "start": w}
        return w

    def grad(self, inner, w, t):
        g = inner(w)
        t.scratch["g"] = t.scratch["g"] + g
        return g

    def end(self, delta, t):
        t.upload |= {"g": t.scratch["g"], "delta": delta}
        return delta

    def evaluate(self, w, r):
        self.rounds.append(r)
        return {}

    def models(self):
        """Every round's y_i, as (rounds, m, d)."""
        return torch.stack([r.models for r in self.rounds])

    def sums(self, t):
        """Σ_k g_i^k of round t, as (m, d)."""
        return torch.stack([up["g"] for up in self.rounds[t].uploads])


def progress(clients, w=0.0, parts=(), loss=None, **settings):
    """The states of server and clients after a run with one weight, as `one_weight.train` does."""
    spec = RunSpec(**{"clients": len(clients), **LINE, **settings})
    given = {**objects(clients, w), "parts": tuple(parts), **({"loss": loss} if loss else {})}
    machine = Machine(device="cpu", workers=1)
    problem = assemble(spec, given, machine, None)
    engine = Training(problem, machine)
    engine.run()
    return engine.progress


def flat_loss(z, y):
    """A loss whose gradient is 0 everywhere."""
    return 0 * z.sum(-1)
