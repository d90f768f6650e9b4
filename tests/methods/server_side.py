"""What a part does at the server, without training: updates go in, the global update comes out."""

import numpy as np
import torch

from fedbench.core.flat_network import Model
from fedbench.core.local_optimisers import SGD
from fedbench.core.round_data import Federation, Round, weighted_mean
from fedbench.core.tensors_on_disk import Spill
from tests.methods import reference
from tests.methods.on_reference import trajectory


def federation(K, d, *, n=None, labels=None, lr=1.0, dtype=torch.float64, **sgd):
    """K clients and a model of d weights that start at 0; sgd: momentum and so on of local SGD."""
    n = torch.ones(K) if n is None else torch.as_tensor(n)
    labels = torch.ones(K, 2) if labels is None else torch.as_tensor(labels)
    return Federation(
        K=K,
        m=K,
        classes=labels.shape[1],
        d=d,
        n=n.to(dtype),
        labels=labels.to(dtype),
        lr=lr,
        rounds=1,
        net=None,
        start=Model(torch.zeros(d, dtype=dtype), {}),
        spill=Spill(1.0),
        optimiser=SGD(**sgd),
    )


class Server:
    """Feeds one part with updates, round after round; its state is in `mine`."""

    def __init__(self, part, fed):
        self.part, self.fed, self.t = part, fed, 0
        self.state = part.server(fed.start.w, fed)

    def open(self, clients=None, p=None, steps=None, lr=None):
        """A round with these clients (all), weights (uniform), H_i (1) and η_t (η_0)."""
        clients = list(range(self.fed.K)) if clients is None else clients
        n = self.fed.n[clients]
        p = torch.full_like(n, 1 / len(clients)) if p is None else torch.as_tensor(p).to(n)
        r = Round(
            fed=self.fed,
            round=self.t,
            lr=self.fed.lr if lr is None else lr,
            w=self.fed.start.w,
            buffers={},
            clients=clients,
            counts=n,
            p=p,
            validate=None,
            proxy=None,
            state=self.state,
        )
        r.set_steps([1] * len(clients) if steps is None else steps)
        self.t += 1
        return r

    def receive(self, updates, **settings):
        """Each client's update as the part corrects it, and the round."""
        r = self.open(**settings)
        updates = torch.as_tensor(np.asarray(updates), dtype=self.fed.start.w.dtype)
        r.raw, r.models = updates, r.w - updates
        r.p = self.part.weigh(r.p, r)
        corrected = []
        for r.i, update in enumerate(updates):
            corrected.append(self.part.receive(update, r))
        return torch.stack(corrected), r

    def step(self, updates, **settings):
        """The global update d of a round in which the clients sent these."""
        corrected, r = self.receive(updates, **settings)
        return self.part.step(weighted_mean(corrected, r.p), r)


def named(s, part, **settings):
    """The models that a scoring part names in each round of the NumPy reference's setting."""
    found = []

    class Watched(type(part)):
        """Writes down what it names."""

        def evaluate(self, w, r):
            models = super().evaluate(w, r)
            found.append({k: v.numpy().reshape(s.w0.shape) for k, v in models.items()})
            return models

    frames = trajectory(s, (Watched(**vars(part)),), **settings)
    return frames, found


def locals_of(s):
    """What FedAvg's clients train in each round: (S_t, {i: y_i}, x_t) by plain NumPy."""
    rounds = []

    def one_round(t, cohort, p, x):
        ys = {i: reference.descend(s, t, i, x, lambda y, g: g) for i in cohort}
        rounds.append((cohort, ys, x))
        return reference.mix(p, [ys[i] for i in cohort])

    return reference.rounds(s, one_round), rounds
