"""A module as a function of one flat vector of its trainable parameters."""

import contextlib
import copy
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.overrides import TorchFunctionMode

from fedbench.core.rng import noticing, seeded

Buffers = dict[str, Tensor]

_NORMS = (nn.GroupNorm, nn.LayerNorm, nn.RMSNorm, _NormBase)


class Model(NamedTuple):
    """The state of a model: its flat weights (d,) and the buffers of its norm layers."""

    w: Tensor
    buffers: Buffers


class Net:
    """Calls `module` at any flat weights; only the structure of the module is used.

    A module with children `body` and `head` gives features too: logits = head(body(x)). `mixed`
    computes it in bfloat16; what goes in and comes out stays float32.
    """

    def __init__(self, module: nn.Module, mixed: bool = False) -> None:
        self._mixed = mixed
        trained = {name: p for name, p in module.named_parameters() if p.requires_grad}
        self.names = list(trained)
        self.shapes = [p.shape for p in trained.values()]
        self.sizes = [p.numel() for p in trained.values()]
        self.d = sum(self.sizes)
        self.has_head = hasattr(module, "body") and hasattr(module, "head")
        convolutions = (m for m in module.modules() if isinstance(m, nn.Conv2d))
        self.channels = next((m.out_channels for m in convolutions), 0)  # of the first, if any
        self.has_batch_norm = any(isinstance(m, _BatchNorm) for m in module.modules())
        self.has_dropout = False  # until `find_dropout`
        kept = module.state_dict().keys()  # without constants, such as positions
        buffers = {k: v.detach().clone() for k, v in module.named_buffers() if k in kept}
        w = torch.cat([p.detach().reshape(-1) for p in trained.values()])
        self._start = Model(w, buffers)
        self._module = module
        self._called = CalledModules(module)

    def module(self) -> nn.Module:
        """A copy of the module with its first weights."""
        return copy.deepcopy(self._module)

    @property
    def precision(self) -> torch.dtype:
        """In which the network is computed; its weights and outputs are float32 for bfloat16."""
        return torch.bfloat16 if self._mixed else self._start.w.dtype

    def start(self) -> Model:
        """Copies of the weights and buffers that the module came with."""
        return Model(self._start.w.clone(), {k: v.clone() for k, v in self._start.buffers.items()})

    def fresh(self, rng: torch.Generator) -> Model:
        """Newly initialised weights and buffers, drawn from `rng` alone."""
        module, device = self.module().cpu(), self._start.w.device
        with seeded(int(torch.randint(2**62, (), generator=rng)), device):
            for layer in module.modules():
                getattr(layer, "reset_parameters", lambda: None)()
        return Net(module.to(device)).start()

    def answers(self, x: Tensor) -> Iterator[Any]:
        """What body, if any, and whole give for x at first weights: in evaluation, in training."""
        for called in (self._called.teacher, self._called.student):
            start = self.start()
            net: Any = called.module.net
            values = self.named(start.w) | start.buffers
            with self._autocast(start.w):
                if self.has_head:
                    yield Called(net.body, net)(values, x)
                yield called(values, x)[0]

    def in_turn(self, w: Tensor, x: Tensor, modes: Iterable[str], whole: bool = False) -> list[Any]:
        """Logits for x of one copy of the module, called in 'training' or 'evaluation' mode.

        Each call has the weights w (d,), the first buffers and the same seed. `whole`: what the
        module's own `forward` gives, where it has body and head.
        """
        own, answers = self.module(), []
        called = Called(own if whole else LogitsAndFeatures(own), own)
        for mode in modes:
            called.module.train(mode == "training")
            with seeded(0, x.device, users=True), self._autocast(w):
                answers.append(called(self.named(w) | self.start().buffers, x))
        return answers if whole else [z for z, _ in answers]

    def replaced(self, x: Tensor) -> str:
        """The name of a buffer in whose place a call on x puts another, which is lost; else ''."""
        start = self.start()
        values = self.named(start.w) | start.buffers
        for called in (self._called.teacher, self._called.student):
            before = called.place(values)
            called.module(x)
            left = called.place(before)
            if lost := [name for name in start.buffers if left[name] is not values[name]]:
                return lost[0]
        return ""

    def find_dropout(self, x: Tensor) -> None:
        """Set `has_dropout` if training on inputs x draws random numbers, whatever draws them."""
        start = self.start()
        with torch.no_grad(), noticing(x.device) as drew:
            self.train(start.w, start.buffers, x)
            self.has_dropout = drew()

    def train(self, w: Tensor, buffers: Buffers, x: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and features in training mode; changes running statistics in `buffers`."""
        return self._call(self._called.student, w, buffers, x)

    def eval(self, model: Model, x: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and features in evaluation mode."""
        return self._call(self._called.teacher, model.w, model.buffers, x)

    def place(self, w: Tensor, buffers: Buffers) -> list[Tensor]:
        """Each layer's weights, as leaves of autograd in w's memory, which `train_placed` uses.

        So it does the buffers, in this thread, until others are placed.
        """
        leaves = [piece.detach().requires_grad_() for piece in self.named(w).values()]
        self._called.student.place(dict(zip(self.names, leaves, strict=True)) | buffers)
        return leaves

    def train_placed(self, x: Tensor) -> Tensor:
        """Logits in training mode; changes running statistics in the buffers that were placed."""
        with self._autocast(x):
            logits: Tensor = self._called.student.module(x)[0]
        return logits.to(self._start.w.dtype)

    def head(self, w: Tensor, features: Tensor) -> Tensor:
        """Logits of given features under the classifier in `w`."""
        own = {name: v for name, v in self.named(w).items() if name.startswith("head.")}
        with self._autocast(features):
            result: Tensor = self._called.head(own, features)
        return result.to(features.dtype)

    def norm_mask(self) -> Tensor:
        """(d,) bool: which entries are weights and biases of normalisation layers."""
        norms = {name for name, m in self._module.named_modules() if isinstance(m, _NORMS)}
        return self._mask([name.rpartition(".")[0] in norms for name in self.names])

    def head_mask(self) -> Tensor:
        """(d,) bool: which entries of the flat vector belong to the head."""
        return self._mask([name.startswith("head.") for name in self.names])

    def _mask(self, inside: list[bool]) -> Tensor:
        return torch.tensor(inside).repeat_interleave(torch.tensor(self.sizes))

    @property
    def features(self) -> int:
        """The width of the head's input; 0 if there is no head with a weight matrix."""
        shapes = zip(self.names, self.shapes, strict=True)
        return next((s[1] for name, s in shapes if name.startswith("head.") and len(s) == 2), 0)

    def named(self, w: Tensor) -> dict[str, Tensor]:
        """Each layer's weights by its name, as views of w, (d,) or of several clients (m, d)."""
        pieces, of = torch.split(w, self.sizes, -1), w.shape[:-1]
        return {n: v.view(of + s) for n, v, s in zip(self.names, pieces, self.shapes, strict=True)}

    def _call(self, net: "Called", w: Tensor, buffers: Buffers, x: Tensor) -> tuple[Tensor, Tensor]:
        with self._autocast(w):
            logits, features = net(self.named(w) | buffers, x)
        return logits.to(w.dtype), features.to(w.dtype)

    def _autocast(self, like: Tensor) -> contextlib.AbstractContextManager[Any]:
        return autocast(like.device) if self._mixed else contextlib.nullcontext()


class CalledModules(threading.local):
    """Copies of the module. Calling one puts weights into it, so each thread has its own copies."""

    def __init__(self, module: nn.Module, form: Callable[[Any], Any] = lambda same: same) -> None:
        student, teacher = (form(LogitsAndFeatures(copy.deepcopy(module))) for _ in range(2))
        self.student = Called(student.train(), student.net)
        self.teacher = Called(teacher.eval(), teacher.net)
        whole = copy.deepcopy(module)
        self.head = Called(getattr(whole, "head", whole), whole)


class Called:
    """A module that is called with given weights and buffers; `named` is the module of the names.

    PyTorch's `functional_call` takes a tenth of a small network's step for its checks.
    """

    def __init__(self, module: nn.Module, named: nn.Module) -> None:
        self.module = module
        # where each parameter and buffer is kept; one that layers share is kept in several places
        found: dict[int, list[tuple[dict[str, Any], str]]] = {}
        for layer in named.modules():
            for tensors in (layer._parameters, layer._buffers):
                for attribute, value in tensors.items():
                    found.setdefault(id(value), []).append((tensors, attribute))
        each = [*named.named_parameters(), *named.named_buffers()]
        self._places = {name: found[id(value)] for name, value in each}

    def __call__(self, values: dict[str, Tensor], x: Tensor) -> Any:
        """What the module gives for x; afterwards it is as before."""
        before = self.place(values)
        try:
            return self.module(x)
        finally:
            self.place(before)

    def place(self, values: dict[str, Tensor]) -> dict[str, Tensor]:
        """Put these weights and buffers into the module; returns those that were there."""
        before = {}
        for name, value in values.items():
            for tensors, attribute in self._places[name]:
                before[name] = tensors[attribute]
                tensors[attribute] = value
        return before


class LogitsAndFeatures(nn.Module):
    """Calls `net` for (logits, features); without body and head the logits stand for both."""

    layerwise = True

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net: Any = net
        self.split = hasattr(net, "body") and hasattr(net, "head")

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (B, C) and features (B, …) of inputs x (B, …)."""
        if not self.split:
            logits = self.net(x)
            return logits, logits
        features = self.net.body(x)
        return self.net.head(features), features


@contextlib.contextmanager
def autocast(device: torch.device) -> Iterator[None]:
    """PyTorch's autocast to bfloat16: products of numbers that are rounded to 8 bits."""
    # Without the cache: it would keep casts of weights that the next step replaces.
    halves = torch.autocast(device.type, torch.bfloat16, cache_enabled=False)
    slow = device.type == "cpu" and not has_instructions()
    with halves, _ProductsInFloat32() if slow else contextlib.nullcontext():
        yield


@cache
def has_instructions() -> bool:
    """Whether the processor multiplies bfloat16, under the name that it has in its family."""
    return any(has for name, has in torch.cpu.get_capabilities().items() if "bf16" in name)


# What autocast computes in bfloat16 and networks consist of. Attention is left to PyTorch, which
# rounds between its two products.
_PRODUCTS = {
    torch.conv1d, torch.conv2d, torch.conv3d, F.linear,
    torch.matmul, torch.mm, torch.bmm, torch.addmm, torch.baddbmm,
    Tensor.matmul, Tensor.mm, Tensor.bmm, Tensor.__matmul__,
}  # fmt: skip


class _ProductsInFloat32(TorchFunctionMode):
    """Rounds factors and results to bfloat16, and multiplies and sums in float32.

    Instructions for bfloat16 do the same, but for the order of a sum; without them PyTorch takes 12
    to 18 times as long as in float32.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func not in _PRODUCTS:
            return func(*args, **kwargs)
        with torch.autocast("cpu", enabled=False):
            named = {name: _rounded(value) for name, value in kwargs.items()}
            return func(*map(_rounded, args), **named).to(torch.bfloat16)


def _rounded(value: Any) -> Any:
    """A tensor of floats as float32 numbers of bfloat16's 8 bits; anything else as it is."""
    if isinstance(value, Tensor) and value.is_floating_point():
        return value.to(torch.bfloat16).float()
    return value
