"""Test accuracy at clients: of the global model, and of the models that they trained."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from fedbench.base.checks import Count
from fedbench.base.errors import FedbenchError
from fedbench.core.part import overriding
from fedbench.engine.local_round import local_round
from fedbench.engine.probe import Cells, Columns, OfClasses, Scene, Sight
from fedbench.engine.problem import ClientResult, Problem
from fedbench.engine.rounds import asked, prepare
from fedbench.probes import scores


@dataclass(frozen=True)
class PerClient(scores.OfTestedClients):
    """Accuracy of the scored model at every client, on test data with that client's class shares.

    The accuracy at client i is Σ_c q_ic a_c, where a_c is the model's test accuracy of class c and
    q_ic the share of class c in the client's training data. Columns, at every evaluated round:
    client_accuracy, the unweighted mean over all clients; client_worst, the mean over the worst
    tenth of them; client_spread, their standard deviation (ddof = 1). Classes without test samples
    are left out, and so are clients that hold no other: a warning says how many when the run
    starts, and where there are some they stand in the column client_untested. Where the data say
    whose test samples are (`groups_test`), and no two clients share an owner, the accuracy at a
    client is that on its own test samples. Table, at the last
    round: client, accuracy. Cost: a pass through the test set.
    """

    COLUMNS: ClassVar[Columns] = {
        "client_accuracy": ("Mean accuracy at a client", "fraction", "higher"),
        "client_worst": ("Accuracy at the worst tenth of clients", "fraction", "higher"),
        "client_spread": ("Spread of accuracy over clients", "fraction", "lower"),
        "client_untested": ("Clients without test samples of their classes", "", "lower"),
    }
    TABLE: ClassVar[Columns] = {
        "client": ("Client", "", ""),
        "accuracy": ("Accuracy at the client", "fraction", "higher"),
    }

    def see(self, s: Scene) -> Sight:
        """Measure the scored model in evaluated rounds."""
        if not s.evaluated:
            return Sight({}, [])
        each = scores.accuracy_at(s.problem, s.scored, range(s.r.fed.K))
        sound = each[~each.isnan()]
        columns = {
            "client_accuracy": float(sound.mean()),
            "client_worst": float(scores.worst_tenth(each)),
            "client_spread": float(sound.std()) if len(sound) > 1 else 0.0,
        }
        if len(sound) < len(each):  # where nobody is left out, no column says so
            columns["client_untested"] = float(len(each) - len(sound))
        rows: list[Cells] = [{"client": i, "accuracy": a} for i, a in enumerate(each.tolist())]
        return Sight(columns, rows if s.last else [])


@dataclass(frozen=True)
class Personal(scores.OfTestedClients):
    """Accuracy of the cohort's own models after local training, each on its client's test data.

    A client's own model is the one that it trained (FedAvg, fine-tuned for a round), or what a
    personalised method keeps for it (Ditto, FedBN, FedRep, LocalOnly). A client's test data are its
    own or have the class shares of its training data, as for the probe `perclient`; clients that
    hold only classes without test samples are left out, which a warning says. Columns, at every
    evaluated round: personal_accuracy, the mean over the cohort; personal_worst, the mean over its
    worst tenth, at least one client; personal_gain, by how much the first is above the accuracy of
    the global model that the round began with, on the same clients. With `everyone` all of this is
    over all K clients: those outside the cohort, and those whose results were dropped, train too,
    with what they have stored, all their epochs or steps and no effect. To retrain the classifier
    alone use the probe `calibration`. Cost: a pass through the test set for each client, and one
    more; with `everyone` also the training of K clients at each evaluation.
    """

    COLUMNS: ClassVar[Columns] = {
        "personal_accuracy": ("Accuracy of a client's own model", "fraction", "higher"),
        "personal_worst": ("Own model at the worst tenth of clients", "fraction", "higher"),
        "personal_gain": ("Gain of the own over the global model", "fraction", "higher"),
    }

    everyone: bool = False  # score all clients, not the round's alone

    def row(self, s: Scene) -> dict[str, float]:
        """Score each client with its own model, and with the global one."""
        models = dict(zip(s.r.clients, s.own, strict=True))
        if self.everyone:
            others = [i for i in range(s.problem.fed.K) if i not in models]
            models |= zip(others, s.own_of([_trained(s, i) for i in others]), strict=True)
        own = torch.cat([scores.accuracy_at(s.problem, model, [i]) for i, model in models.items()])
        before = scores.accuracy_at(s.problem, s.global_model, list(models))
        return {
            "personal_accuracy": float(own.nanmean()),
            "personal_worst": float(scores.worst_tenth(own)),
            "personal_gain": float((own - before).nanmean()),
        }


def _trained(s: Scene, client: int) -> ClientResult:
    """What a client outside the cohort would have replied in this round."""
    messages = [dict(turn.msg) for turn in s.clients[0].turns]  # a part may write to its own
    prepared = prepare(s.problem, s.r, client, messages, s.stored(client))
    for i in overriding(s.problem.task.parts, "ask"):
        asked(s.problem, prepared, i)
    return local_round(s.problem.task, prepared)


@dataclass(frozen=True)
class Locals(OfClasses):
    """Mean accuracy of the cohort's local models on the whole test set.

    FedGKD paper, Fig. 2. Column: local_accuracy, the mean over the cohort, at every evaluated
    round. Cost: a pass through the test set for each client of the cohort.
    """

    COLUMNS: ClassVar[Columns] = {
        "local_accuracy": (
            "Accuracy of a client's model, mean over the round's clients", "fraction", "higher",
        ),
    }  # fmt: skip

    def row(self, s: Scene) -> dict[str, float]:
        """Return the mean accuracy over the cohort."""
        return {"local_accuracy": scores.mean_accuracy(s.problem, s.local)}


@dataclass(frozen=True)
class Changes(OfClasses):
    """Test accuracy per class before and after a client's local training (ASD paper, Fig. 1).

    Table: round, client, label; count, the client's training samples of the class; held, 'rare' if
    they are fewer than half of n_i / C, else 'common'; before (accuracy of x_t) and after (of y_i),
    as fractions; change, their difference in percentage points. The last three are NaN where the
    test set lacks the class. x_t is this run's global model, so that methods are compared at
    different models. Cost: a pass through the test set for each of the clients and for x_t.
    """

    TABLE: ClassVar[Columns] = {
        "round": ("Communication round", "", ""),
        "client": ("Client", "", ""),
        "label": ("Class", "", ""),
        "count": ("Training samples of the class", "", ""),
        "held": ("Rare or common at the client", "", ""),
        "before": ("Accuracy before the local round", "fraction", "higher"),
        "after": ("Accuracy after the local round", "fraction", "higher"),
        "change": ("Change of accuracy", "percentage points", "higher"),
    }

    at: Count | None = None  # the round to measure; null: the last
    clients: Count = 2  # how many, from the cohort in ascending order

    def require(self, problem: Problem) -> None:
        """Raise `FedbenchError` without classes, or if round `at` is after the last."""
        super().require(problem)
        if self.at and self.at > problem.spec.rounds:
            raise FedbenchError(f"changes at = {self.at}; there are {problem.spec.rounds} rounds")

    def table(self, s: Scene) -> list[Cells]:
        """Return one row per client and class."""
        if not (s.r.round + 1 == self.at if self.at else s.last):
            return []
        before, counts = scores.class_accuracy(s.problem, s.global_model), s.r.fed.labels
        rows: list[Cells] = []
        for i, model in list(zip(s.r.clients, s.local, strict=True))[: self.clients]:
            measured = zip(counts[i], before, scores.class_accuracy(s.problem, model), strict=True)
            for label, (n, old, new) in enumerate(measured):
                held = "rare" if 2 * len(before) * n < counts[i].sum() else "common"
                measures = {"before": float(old), "after": float(new)}
                measures["change"] = 100 * float(new - old)
                about = {"round": s.r.round + 1, "client": int(i), "label": label, "count": int(n)}
                rows.append({**about, "held": held, **measures})
        return rows
