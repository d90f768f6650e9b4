"""The curvature of the loss around the trained model."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from annotated_types import Ge
from torch import Tensor

from fedbench.analysis import hessian
from fedbench.base import seeds
from fedbench.base.checks import Count, Positive
from fedbench.base.errors import FedbenchError, at
from fedbench.core.rng import seeded, torch_generator
from fedbench.engine.probe import Columns, Probe, Scene, Sight
from fedbench.engine.problem import Problem

Pair = Annotated[int, Ge(2)]


@dataclass(frozen=True)
class Spectrum(Probe):
    """Top eigenvalue, trace and spectral density of the Hessian of the base loss.

    ASD paper, Tables 1 and 12 and Fig. 3. At the last round, at the scored model in evaluation
    mode; the loss is the mean base loss over a fixed subset of the clients' training samples,
    without distillation, weight decay or augmentation. Columns: hessian_top, the eigenvalue of
    largest magnitude; hessian_trace; hessian_mean_abs, the mean magnitude of the eigenvalues.
    Table: eigenvalue, density. The paper gives neither subset nor scaling: compare ratios, not
    values. Cost: `probes` + `steps` products with the Hessian, and 20 to 20·`iterations` more; each
    takes two to three passes forward and backward through `samples` samples. A network of which
    PyTorch has no right second derivative is refused before training, by a product of two samples.
    """

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
        """Raise `FedbenchError` for a model of one weight, or without the derivatives it takes."""
        if problem.fed.d < 2:
            raise FedbenchError("watch: spectrum needs a model of at least two weights")
        few = self.rows(problem)[:2]
        with at("watch: spectrum cannot measure this network"), seeded(0, problem.device):
            hessian.require_products(problem.task, problem.fed.start, few)

    def see(self, s: Scene) -> Sight:
        """Measure top eigenvalue, trace and density at the last round."""
        if not s.last:
            return Sight({}, [])
        H = hessian.hessian(s.problem.task, s.scored, self.rows(s.problem))
        with hessian.twice_differentiable(), s.seeded("spectrum"):
            start = torch.randn_like(s.scored.w)
            top = hessian.top_eigenvalue(H, self.tol, self.iterations, start)
            trace = hessian.trace(H, self.probes)
            density = hessian.density(H, self.steps, self.points)
        columns = {"hessian_top": top, "hessian_trace": trace, "hessian_mean_abs": density.mean_abs}
        pairs = zip(density.eigenvalue.tolist(), density.density.tolist(), strict=True)
        return Sight(columns, [{"eigenvalue": x, "density": p} for x, p in pairs])

    def rows(self, problem: Problem) -> Tensor:
        """The subset of training rows; it depends on seed and partition, not on the method."""
        seed = problem.spec.seed
        rng = torch_generator(seed, seeds.ALWAYS, seeds.EVERYONE, "probe spectrum")
        rows = torch.cat(problem.rows)
        return rows[torch.randperm(len(rows), generator=rng)[: self.samples]].sort().values
