"""Every hook is called at its moment, with its objects, and sees only its own part's entries."""

from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from torch import nn

from fedbench import Dataset, Machine, Part, RunSpec, run
from fedbench.core.flat_network import Net
from fedbench.core.part import Part as Base
from fedbench.core.part import overriding
from tests.methods.one_weight import blocks, close, final, line, train, weight


@dataclass(frozen=True)
class Spy(Part):
    """Overrides every hook, changes nothing, and writes down what happened."""

    log: list = field(default_factory=list)

    def note(self, hook, *details):
        self.log.append((hook, *details))

    def server(self, w, fed):
        self.note("server", float(w[0]), fed.K, fed.m, fed.d, fed.n.tolist())
        return {"s": torch.zeros_like(w)}

    def client(self, w, fed):
        self.note("client", float(w[0]))
        return {"c": torch.zeros_like(w)}

    def ask(self, w, t):
        self.note("ask", float(t.full_gradient(w)))
        return {"a": t.full_gradient(w)}

    def answer(self, asks, p, r):
        self.note("answer", [float(ask["a"]) for ask in asks], p.tolist())
        return {"mean": sum(share * ask["a"] for share, ask in zip(p, asks, strict=True))}

    def send(self, r):
        self.note("send", r.round, list(r.clients), float(r.w[0]))
        return {"m": r.state["s"] + 7}

    def draw(self, rng, t):
        self.note("draw")
        return {"d": torch.rand(1, generator=rng, dtype=torch.float64)}

    def begin_buffers(self, buffers, t):
        self.note("begin_buffers", sorted(buffers))
        return buffers

    def begin(self, w, t):
        self.note("begin", float(w[0]), sorted(t.msg), sorted(t.state), sorted(t.drawn), t.k, t.H)
        return w

    def logits(self, z, b, t):
        self.note("logits", t.k)
        return z

    def loss(self, value, b, t):
        self.note("loss", t.k, b.y.tolist())
        return value

    def grad(self, inner, w, t):
        self.note("grad in", t.k)
        g = inner(w)
        self.note("grad out", t.k)
        return g

    def decay(self, g, w, t):
        self.note("decay", t.k)
        return g

    def move(self, step, w, t):
        self.note("move", t.k)
        return step

    def after(self, b, t):
        self.note("after", t.k, b.logits.requires_grad)
        t.upload["u"] = b.logits.mean().reshape(1)

    def end(self, delta, t):
        self.note("end", t.k, t.H)
        t.state["c"] = t.state["c"] + 1
        return delta

    def weigh(self, p, r):
        self.note("weigh", p.tolist())
        return p

    def receive(self, delta, r):
        self.note("receive", r.i)
        return delta

    def step(self, d, r):
        self.note("step", [float(up["u"]) for up in r.uploads])
        r.state["s"] = r.state["s"] + 1
        return d

    def evaluate(self, w, r):
        self.note("evaluate", float(w[0]), float(r.new[0]))
        return {}


def test_hooks_are_called_in_order():
    spy = Spy()
    # w=4, target 0, lr ½, two steps: 4 → 2 → 1
    train([[0.0]], w=4.0, parts=[spy], lr=0.5, steps=2)
    one_step = ["grad in", "logits", "loss", "grad out", "decay", "move", "after"]
    assert [entry[0] for entry in spy.log] == [
        *["server", "send", "client", "draw", "ask", "answer", "begin", "begin_buffers"],
        *one_step,
        *one_step,
        *["end", "weigh", "receive", "step", "evaluate"],
    ]


def test_hooks_see_their_objects():
    spy = Spy()
    train([[0.0], [2.0]], w=4.0, parts=[spy], lr=0.5, steps=2)
    found = {}
    for hook, *details in spy.log:
        found.setdefault(hook, []).append(details)
    assert found["server"] == [[4.0, 2, 2, 1, [1.0, 1.0]]]
    assert found["client"] == [[4.0], [4.0]]
    assert found["ask"] == [[4.0], [2.0]]  # gradients of ½ w² and ½ (w − 2)²
    assert found["answer"] == [[[4.0, 2.0], [0.5, 0.5]]]
    assert found["begin"] == [[4.0, ["m", "mean"], ["c"], ["d"], 0, 2]] * 2
    assert found["loss"] == [[0, [0.0]], [1, [0.0]], [0, [2.0]], [1, [2.0]]]
    assert found["after"] == [[0, False], [1, False]] * 2
    assert found["end"] == [[2, 2]] * 2
    assert found["weigh"] == [[[0.5, 0.5]]]
    assert found["receive"] == [[0], [1]]
    assert found["step"] == [[[2.0, 3.0]]]  # the last logits: 4 → 2 → 1 and 4 → 3 → 2½
    assert found["evaluate"] == [[1.75, 1.75]]


def test_the_full_gradient_is_of_all_samples_however_many():
    # 750 samples pass in pieces of 500 and 250: the mean target is 1, the gradient 4 − 1
    spy = Spy()
    train([[0.0] * 500 + [3.0] * 250], w=4.0, parts=[spy])
    assert next(entry[1] for entry in spy.log if entry[0] == "ask") == pytest.approx(3.0)


@pytest.mark.parametrize(("n", "passes"), [(3, [3]), (4, [2, 2]), (5, [2, 3])])
def test_no_pass_of_the_full_gradient_has_one_sample_under_batch_norm(monkeypatch, n, passes):
    monkeypatch.setattr("fedbench.engine.rounds._CHUNK", 2)
    seen = []

    class Normed(nn.Sequential):
        def forward(self, x):
            seen.append(len(x))
            return super().forward(x)

    @dataclass(frozen=True)
    class Ask(Part):
        def ask(self, w, t):
            seen.clear()
            t.full_gradient(w)
            assert seen == passes
            return {}

    x = np.arange(float(n)).reshape(-1, 1)
    data = Dataset("bn", x, np.zeros(n), x, np.zeros(n), 0)
    model = Normed(nn.BatchNorm1d(1), nn.Linear(1, 1))
    spec = RunSpec(clients=1, rounds=1, lr=1e-3)
    run(
        spec,
        machine=Machine(device="cpu"),
        data=data,
        model=model,
        partition=blocks([n]),
        parts=[Ask()],
    )
    assert len(seen) > len(passes)  # and was trained and scored then


def test_a_spy_covers_every_hook():
    hooks = {k for k, v in vars(Base).items() if callable(v) and not k.startswith("_")}
    spied = {hook for hook in hooks if overriding([Spy()], hook)}
    assert hooks - spied == {"cost"}


def test_states_are_made_once():
    spy = Spy()
    train([[0.0], [2.0]], parts=[spy], rounds=3)
    assert sum(entry[0] == "client" for entry in spy.log) == 2  # once a client, not once a round
    assert sum(entry[0] == "server" for entry in spy.log) == 1


@dataclass(frozen=True)
class Count(Part):
    """Counts in every state it has; `add` differs between parts."""

    add: float = 1.0
    seen: list = field(default_factory=list)

    def server(self, w, fed):
        return {"v": torch.zeros_like(w)}

    def client(self, w, fed):
        return {"v": torch.zeros_like(w)}

    def send(self, r):
        return {"v": r.state["v"]}

    def begin(self, w, t):
        t.scratch["v"] = t.state["v"]
        return w

    def move(self, step, w, t):
        t.scratch["v"] = t.scratch["v"] + self.add
        return step

    def end(self, delta, t):
        t.state["v"], t.upload["v"] = t.scratch["v"], t.scratch["v"] + t.msg["v"]
        return delta

    def step(self, d, r):
        self.seen.append([float(up["v"]) for up in r.uploads])
        r.state["v"] = r.state["v"] + 100 * self.add
        return d


@dataclass(frozen=True)
class Recount(Count):
    """The same under another name."""


def test_parts_see_only_their_own_entries():
    # One sample and three, batch 1: 1 and 3 counts a round; the message grows by 100 · add.
    one, two = Count(1.0), Recount(0.5)
    train([[0.0], [0.0] * 3], parts=[one, two], batch=1, rounds=3)
    assert one.seen == [[1, 3], [102, 106], [203, 209]]
    assert two.seen == [[0.5, 1.5], [51, 53], [101.5, 104.5]]


def test_a_client_keeps_its_state_while_others_train():
    part = Count()
    rounds = 8
    cohorts = Spy()
    train([[0.0]] * 4, parts=[part, cohorts], participation=0.5, rounds=rounds)
    # each entry: how often the client has trained, + 100 a round that has passed
    turns = [[value - 100 * t for value in pair] for t, pair in enumerate(part.seen)]
    assert max(max(pair) for pair in turns) <= rounds
    trained = [entry[2] for entry in cohorts.log if entry[0] == "send"]
    history = dict.fromkeys(range(4), 0)
    for pair, clients in zip(turns, trained, strict=True):
        for value, i in zip(pair, clients, strict=True):
            history[i] += 1
            assert value == history[i]
    assert sum(history.values()) == 2 * rounds


@dataclass(frozen=True)
class Rebinder(Part):
    """Gives `mine` and `up` new dictionaries instead of writing into them."""

    seen: list = field(default_factory=list)

    def server(self, w, fed):
        return {"v": w.new_zeros(1)}

    def client(self, w, fed):
        return {"v": w.new_zeros(1)}

    def end(self, delta, t):
        t.state = {"v": t.state["v"] + 1}
        t.upload = {"v": t.state["v"]}
        return delta

    def step(self, d, r):
        self.seen.append((float(r.state["v"]), [float(up["v"]) for up in r.uploads]))
        r.state = {"v": r.state["v"] + 1}
        return d


def test_a_state_may_be_replaced():
    part = Rebinder()
    train([[0.0], [1.0]], parts=[part], rounds=3)
    assert part.seen == [(0, [1, 1]), (1, [2, 2]), (2, [3, 3])]


@dataclass(frozen=True)
class Chatty(Part):
    """Sends 3 floats, asks with 4, is answered with 2, uploads 5."""

    def send(self, r):
        return {"m": torch.zeros(3)}

    def ask(self, w, t):
        return {"a": torch.zeros(4)}

    def answer(self, asks, p, r):
        return {"b": torch.zeros(2)}

    def end(self, delta, t):
        t.upload["u"], t.upload["v"] = torch.zeros(2), torch.zeros(3)
        return delta


def test_floats_are_counted_both_ways():
    # two of three clients per round: down 2 · (1 + 3 + 2), up 2 · (4 + 1 + 5)
    result = train([[0.0]] * 3, parts=[Chatty()], participation=0.7, rounds=3)
    assert list(result.history["cohort"]) == [2, 2, 2]
    assert list(result.history["floats_down"]) == [12, 24, 36]
    assert list(result.history["floats_up"]) == [20, 40, 60]


@dataclass(frozen=True)
class Exchange(Part):
    """Steps along the mean of the clients' full gradients, and remembers its own in `run`."""

    def ask(self, w, t):
        t.scratch["own"] = t.full_gradient(w)
        return {"g": t.scratch["own"]}

    def answer(self, asks, p, r):
        return {"mean": sum(share * ask["g"] for share, ask in zip(p, asks, strict=True))}

    def grad(self, inner, w, t):
        return inner(w) - t.scratch["own"] + t.msg["mean"]


def test_the_exchange_reaches_the_training():
    # w=4, targets 2 and −2: gradients 2 and 6, mean 4: both clients step 4 → w = 3.6
    result = train([[2.0], [-2.0]], w=4.0, parts=[Exchange()])
    assert close(final(result), 3.6)
    # the gradient is of all of a client's samples, not of its first batch: mean targets 2 and −2
    result = train([[1.0, 3.0], [-2.0, -2.0]], w=4.0, parts=[Exchange()], steps=1, batch=2)
    assert close(final(result), 3.6)


@dataclass(frozen=True)
class Double(Part):
    """Scores twice the weights first."""

    name: str = "double"
    factor: float = 2.0

    def evaluate(self, w, r):
        return {self.name: self.factor * w}


@dataclass(frozen=True)
class Triple(Double):
    """A second opinion."""


def test_the_first_named_model_is_the_headline():
    # after one step from w=2 with target 0, lr ½: w = 1; loss ½ w²
    result = train([[0.0]], w=2.0, lr=0.5, parts=[Double(), Triple("triple", 3.0)])
    row = result.history.iloc[0]
    assert row["loss"] == 2.0
    assert row["loss[triple]"] == 4.5
    assert row["loss[next]"] == 0.5
    assert close(final(result), 1.0)


@dataclass(frozen=True)
class Weights(Part):
    """All weight on the first client."""

    def weigh(self, p, r):
        return torch.eye(len(p), dtype=p.dtype)[0]


@dataclass(frozen=True)
class Mean(Part):
    """Reads the mean of what clients upload."""

    seen: list = field(default_factory=list)

    def end(self, delta, t):
        t.upload["d"] = delta
        return delta

    def step(self, d, r):
        self.seen.append(float(r.mean("d")))
        return d


def test_weigh_decides_how_models_and_uploads_are_mixed():
    mean = Mean()
    clients = [[2.0], [-2.0]]  # y = 3.8 and 3.4
    assert close(final(train(clients, w=4.0, parts=[mean, Weights()])), 3.8)
    assert close(final(train(clients, w=4.0, parts=[mean])), 3.6)
    assert close(mean.seen, 0.2, 0.4)


@dataclass(frozen=True)
class Displaced(Part):
    """Starts elsewhere."""

    def begin(self, w, t):
        return w + 1


def test_begin_moves_the_start_but_not_the_origin_of_the_update():
    # start 5, target 2, gradient 3, lr 0.1: y = 4.7; D = 4 − 4.7; x = y
    assert close(final(train([[2.0]], w=4.0, parts=[Displaced()])), 4.7)


@dataclass(frozen=True)
class Upload(Part):
    """Uploads something else than D, and corrects it at the server."""

    def end(self, delta, t):
        return 10 * delta

    def receive(self, delta, r):
        return delta / 5 if r.i == 0 else delta / 10


def test_end_and_receive_shape_the_update():
    # D = 0.2 and 0.6; received 0.4 and 0.6: x = 4 − 0.5
    assert close(final(train([[2.0], [-2.0]], w=4.0, parts=[Upload()])), 3.5)


def test_overriding_finds_what_a_part_changes():
    parts = [Double(), Upload(), Spy()]
    assert overriding(parts, "evaluate") == [0, 2]
    assert overriding(parts, "end") == [1, 2]
    assert overriding(parts, "logits") == [2]


@dataclass(frozen=True)
class Pulled(Part):
    def decay(self, g, w, t):
        return g + 2 * w


def test_decay_joins_after_the_clip_and_before_the_momentum_buffer():
    # w=4, target 0: gradient 4, clipped to 1, + 2·4 = 9; lr 0.1: w = 4 − 0.9 = 3.1
    # then gradient 3.1, clipped to 1, + 6.2 = 7.2; buffer 0.5·9 + 7.2 = 11.7: w = 3.1 − 1.17 = 1.93
    result = train([[0.0]], w=4.0, parts=[Pulled()], lr=0.1, steps=2, clip=1.0, momentum=0.5)
    assert float(result.weights) == pytest.approx(1.93, abs=1e-5)


@dataclass(frozen=True)
class Statistician(Part):
    """Reads the clients' running statistics at the server."""

    seen: list = field(default_factory=list)

    def step(self, d, r):
        self.seen.append([float(own["1.running_mean"]) for own in r.statistics])
        return d


def test_the_server_sees_each_clients_statistics():
    # w = 1 feeds x itself to batch norm; a running mean starts at 0 and moves 10 % of the way to
    # mean(x) = 1 and 4
    x, y = np.array([[0.0], [2.0], [3.0], [5.0]]), np.zeros(4)
    model = nn.Sequential(weight(1.0), nn.BatchNorm1d(1, dtype=torch.float64))
    part, spec = Statistician(), RunSpec(clients=2, rounds=1, batch=None, precision="float64")
    share = {"data": Dataset("pairs", x, y, x, y, 0), "model": model, "partition": blocks([2, 2])}
    run(spec, machine=Machine(device="cpu", workers=1), parts=(part,), **share)
    assert close(part.seen, 0.1, 0.4)


def test_the_width_of_what_the_classifier_sees():
    class Split(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(3, 5), nn.Sequential(nn.ReLU(), nn.Linear(5, 2))

    assert Net(Split()).features == 5
    assert Net(nn.Linear(3, 5)).features == 0


@dataclass(frozen=True)
class Own(Part):
    """Keeps the model that was trained, after another part has rewritten the update."""

    seen: list = field(default_factory=list)

    def client(self, w, fed):
        return {"y": torch.zeros_like(w)}

    def end(self, delta, t):
        t.state["y"] = t.y.w
        t.upload["y"] = t.y.w
        return delta

    def step(self, d, r):
        self.seen.append([float(up["y"]) for up in r.uploads])
        return d


def test_a_client_sees_its_own_model_at_the_end():
    # one step or three from 4 to 0 with lr ½: 2 and ½, whatever Upload makes of the updates
    own = Own()
    train([[0.0], [0.0] * 3], w=4.0, parts=[Upload(), own], lr=0.5, batch=1)
    assert own.seen == [[2.0, 0.5]]


@dataclass(frozen=True)
class Twice(Part):
    """Asks for every gradient a second time."""

    pairs: list = field(default_factory=list)

    def grad(self, inner, w, t):
        g, again = inner(w), inner(w)
        self.pairs.append((g, again))
        return g


def test_a_second_gradient_of_a_step_drops_the_same_units_and_moves_no_later_draw(cpu):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 9), nn.Dropout(0.5), nn.Linear(9, 1))
    spec = RunSpec(clients=2, rounds=2, batch=1, precision="float64")
    data, partition = line([1.0, 2.0, 3.0, 5.0]), blocks([2, 2])
    share = {"machine": cpu, "data": data, "partition": partition}
    twice = Twice()
    got = run(spec, model=model, parts=(twice,), **share).weights
    assert all(torch.equal(g, again) for g, again in twice.pairs)
    dropped = {tuple((g[:9] == 0).tolist()) for g, _ in twice.pairs}
    assert len(dropped) > 1, "another step drops other units"
    assert torch.equal(got, run(spec, model=model, **share).weights)


class Careless(Part):
    """Takes the weights for their gradient."""

    def grad(self, inner, w, t):
        return w


def test_a_part_that_never_asks_for_the_gradient_is_told_so(refuses):
    with refuses("made a step without `inner`"):
        train([[1.0]], parts=[Careless()])
