"""The curvature of the loss around the trained model, after Yao et al., "PyHessian", 2020."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from annotated_types import Ge
from scipy.sparse.linalg import ArpackError, eigsh
from torch import Tensor, nn
from torch.func import grad
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode

from fedbench.base import registry, seeds
from fedbench.base.checks import Count, Positive
from fedbench.base.errors import FedbenchError, at, failing
from fedbench.core.flat_network import Model, Net
from fedbench.core.rng import seeded, torch_generator
from fedbench.core.round_data import Loss
from fedbench.engine.probe import Columns, Probe, Scene, Sight
from fedbench.engine.problem import LocalTask, Problem
from fedbench.models.fast_pooling import usual_pooling

Pair = Annotated[int, Ge(2)]

# samples per pass: on a CPU their activations stay in its cache, on a GPU an operation has many
_CHUNK = {"cpu": 50, "cuda": 250}
_DENSE = 32  # up to so many weights the matrix is formed
_APART = 1e-3  # relative; in single precision the largest networks' products are 1e-6 apart


@dataclass(frozen=True)
class Spectrum(Probe):
    """Top eigenvalue, trace and spectral density of the Hessian of the base loss.

    ASD paper, Tables 1 and 12 and Fig. 3. At the last round, at the scored model in evaluation
    mode; the loss is the mean base loss over a fixed subset of the clients' training samples,
    without distillation, weight decay or augmentation. Columns: hessian_top, the eigenvalue of
    largest magnitude; hessian_trace; hessian_mean_abs, the mean magnitude of the eigenvalues,
    by one random vector. Table: eigenvalue, density; none where the loss is flat. The paper
    gives neither subset nor scaling: compare ratios, not values. Cost: `probes` + `steps`
    products with the Hessian, and 20 to 20·`iterations` more; each takes two to three passes
    forward and backward through `samples` samples. A network of which PyTorch has no right
    second derivative is refused before training, by a product of two samples.
    """

    EXTRA = "curvature"
    COLUMNS: ClassVar[Columns] = {
        "hessian_top": ("Top eigenvalue", "", "lower"),
        "hessian_trace": ("Trace", "", "lower"),
        "hessian_mean_abs": ("Mean magnitude of the eigenvalues", "", "lower"),
    }
    TABLE: ClassVar[Columns] = {
        "eigenvalue": ("Eigenvalue", "", ""),
        "density": ("Density", "", ""),
    }

    samples: Count = 2000  # largest number of training samples
    probes: Count = 100  # random (Rademacher) vectors for the trace
    steps: Pair = 100  # Lanczos steps for the density
    points: Pair = 1024  # points of the density's grid
    iterations: Count = 100  # largest number of restarts for the top eigenvalue
    tol: Positive = 1e-3  # relative accuracy of the top eigenvalue

    def require(self, problem: Problem) -> None:
        """Raise `FedbenchError` without the extra, the derivatives it takes, or two weights."""
        registry.require_extra("curvature", "watch: spectrum")
        if problem.fed.d < 2:
            raise FedbenchError("watch: spectrum needs a model of at least two weights")
        few = self.rows(problem)[:2]
        with at("watch: spectrum cannot measure this network"), seeded(0, problem.device):
            require_products(problem.task, problem.fed.start, few)

    def see(self, s: Scene) -> Sight:
        """Measure top eigenvalue, trace and density at the last round."""
        if not s.last:
            return Sight({}, [])
        H = hessian(s.problem.task, s.scored, self.rows(s.problem))
        with twice_differentiable(), s.seeded("spectrum"):
            start = torch.randn_like(s.scored.w)
            if not (H @ start).any():  # where a network is sure of every sample
                return Sight(dict.fromkeys(self.COLUMNS, 0.0), [])
            columns = {
                "hessian_top": top_eigenvalue(H, self.tol, self.iterations, start),
                "hessian_trace": trace(H, self.probes),
            }
            grid, p, columns["hessian_mean_abs"] = density(H, self.steps, self.points)
        pairs = zip(grid.tolist(), p.tolist(), strict=True)
        return Sight(columns, [{"eigenvalue": x, "density": p} for x, p in pairs])

    def rows(self, problem: Problem) -> Tensor:
        """The subset of training rows; it depends on seed and partition, not on the method."""
        rng = torch_generator(problem.spec.seed, seeds.ALWAYS, seeds.EVERYONE, "probe spectrum")
        rows = torch.cat(problem.rows)
        return rows[torch.randperm(len(rows), generator=rng)[: self.samples]].sort().values


class _Mean(nn.Module):
    reduction = "mean"

    def __init__(self, loss: Loss) -> None:
        super().__init__()
        self.each = loss

    def forward(self, z: Tensor, y: Tensor) -> Tensor:
        return self.each(z, y).mean()


def hessian(task: LocalTask, model: Model, rows: Tensor) -> Any:
    """The Hessian (d, d) of the mean base loss over `rows`, as an operator of curvlinops."""
    from curvlinops import HessianLinearOperator

    module = usual_pooling(task.net.module().eval())
    params = [p for p in module.parameters() if p.requires_grad]
    nn.utils.vector_to_parameters(model.w, params)
    module.load_state_dict(model.buffers, strict=False)
    pieces = torch.split(rows.to(task.x.device), _CHUNK[task.x.device.type])
    data = [(task.prepare(task.x[piece]), task.y[piece]) for piece in pieces]
    return HessianLinearOperator(module, _Mean(task.loss), params, data, check_deterministic=False)


class WrittenOut(TorchFunctionMode):
    """A context in which group and layer norm are plain arithmetic, to be differentiated twice.

    For the derivative, in forward mode, of a gradient that is mapped over vectors, PyTorch has no
    formula of group norm, and of layer norm a wrong one: as if mean and variance did not move.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _WRITTEN_OUT.get(func, func)(*args, **kwargs or {})


def _group_norm(
    x: Tensor, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Tensor:
    out = _standardised(x.reshape(len(x), groups, -1), 1, eps).reshape(x.shape)
    return _affine(out, weight, bias, (-1, *[1] * (x.ndim - 2)))


def _layer_norm(
    x: Tensor, shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Tensor:
    return _affine(_standardised(x, len(shape), eps), weight, bias, tuple(shape))


_WRITTEN_OUT: dict[Any, Any] = {F.group_norm: _group_norm, F.layer_norm: _layer_norm}


def _standardised(x: Tensor, last: int, eps: float) -> Tensor:
    """The values with mean 0 and variance 1 over so many last dimensions."""
    over = tuple(range(-last, 0))
    x = x - x.mean(over, keepdim=True)
    return x * (x.square().mean(over, keepdim=True) + eps).rsqrt()


def _affine(x: Tensor, weight: Any, bias: Any, shape: tuple[int, ...]) -> Tensor:
    x = x if weight is None else x * weight.view(shape)
    return x if bias is None else x + bias.view(shape)


@contextmanager
def twice_differentiable() -> Iterator[None]:
    """Attention, group and layer norm have a second derivative in this context."""
    with sdpa_kernel(SDPBackend.MATH), WrittenOut():
        yield


def require_products(task: LocalTask, model: Model, rows: Tensor) -> None:
    """Raise `FedbenchError` unless PyTorch gives products with this network's Hessian.

    Compares one product with the gradient of a gradient, for forward mode has wrong formulas of
    some layers. Tried near the model and not at it, where weights of 0 may hide a layer.
    """
    v = torch.randn_like(model.w)
    model = Model(model.w + 0.01 * torch.randn_like(v), model.buffers)
    net, x, y = Net(usual_pooling(task.net.module())), task.prepare(task.x[rows]), task.y[rows]

    def loss(w: Tensor) -> Tensor:
        return task.loss(net.eval(Model(w, model.buffers), x)[0], y).mean()

    remedy = "leave the probe out, or write that layer in plain arithmetic"
    with failing("PyTorch cannot differentiate it twice", remedy), twice_differentiable():
        product = hessian(task, model, rows) @ v
        wanted: Tensor = grad(lambda w: grad(loss)(w) @ v)(model.w)
    apart = float((product - wanted).norm() / wanted.norm())
    if not apart <= _APART:  # NaN is as bad
        raise FedbenchError(
            f"PyTorch's two ways to differentiate it twice are {apart:.1%} apart, so a layer draws "
            f"random numbers or has a wrong derivative; {remedy}"
        )


def top_eigenvalue(H: Any, tol: float, iterations: int, start: Tensor) -> float:
    """The eigenvalue of largest magnitude by Lanczos from `start` (d,), to `tol`; else NaN."""
    if H.shape[0] <= _DENSE:
        eigenvalues = torch.linalg.eigvalsh(_dense(H))
        return float(eigenvalues[eigenvalues.abs().argmax()])
    try:
        eigenvalues = eigsh(
            H.to_scipy(), k=1, which="LM", tol=tol, maxiter=iterations,
            v0=start.cpu().numpy().astype(np.float64), return_eigenvectors=False,
        )  # fmt: skip
    except ArpackError:
        return float("nan")
    return float(eigenvalues[0])


def _dense(H: Any) -> Tensor:
    matrix: Tensor = H @ torch.eye(H.shape[0], device=H.device, dtype=H.dtype)
    return matrix


def trace(H: Any, probes: int) -> float:
    """The trace by Hutchinson's estimate from `probes` random (Rademacher) vectors."""
    from curvlinops import hutchinson_trace

    if H.shape[0] <= _DENSE:
        return float(_dense(H).trace())
    return sum(float(hutchinson_trace(H, 1)) for _ in range(probes)) / probes


def density(H: Any, steps: int, points: int) -> tuple[Tensor, Tensor, float]:
    """Eigenvalues λ and their spectral density p(λ), both (points,), and ∫ |λ| p(λ) dλ.

    By stochastic Lanczos quadrature from one random vector:
    Papyan, "Traces of class/cross-class structure", 2020, algorithm 2. Makes at most d `steps`.
    """
    from curvlinops.papyan2020traces import spectrum

    nodes, vectors = spectrum.fast_lanczos(H, min(steps, H.shape[0]))
    ends = (float(nodes.min()), float(nodes.max()))
    grid, values = spectrum.lanczos_approximate_spectrum_from_iter(
        (nodes, vectors), ends, points, 3.0, 0.05
    )
    return grid, values, float((vectors[0] ** 2 * nodes.abs()).sum())
