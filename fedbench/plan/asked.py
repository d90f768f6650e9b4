"""What a cluster is asked for per job: minutes and memory, from the plan's estimates.

Peak memory in MB of two rounds of FedAvg on a CPU with made-up samples, as the kernel counts it. A
process with PyTorch has 690 before it trains. What a model adds to that, at mini-batches of 64, and
one set of its weights are its `MEGABYTES`.

| model, input, mini-batch | weights | peak |
|---|---|---|
| LeNet-5, 32×32, 64; 256 | 0.2 | 879; 999 |
| A-CNN, 32×32, 64 | 10 | 1,453 |
| S-CNN, 32×32, 50 | 3.3 | 1,144 |
| S-CNN for 64×64, 50 | 9.8 | 2,181 |
| ResNet-8, 32×32, 64 | 0.3 | 987 |
| ResNet-20 with batch norm, 32×32, 64 | 1.1 | 1,170 |
| ResNet-18, CIFAR stem, 32×32, 50; with SCAFFOLD | 45 | 1,978; 2,601 |
| ResNet-18, ImageNet stem, 64×64, 256 | 45 | 2,155 |
| ViT-Small, 224×224, 32 | 87 | 4,358 |
| DistilBERT, 128 tokens, 64 | 268 | 7,026 |
"""

import math

from fedbench.base import registry
from fedbench.plan.data import assumed_samples
from fedbench.spec import Choice, RunSpec

_START = 5  # minutes until a process trains on a busy file system, and to load its data
_FACTOR = 3  # by which a run may be slower than the plan expects
_PROCESS = 1000  # MB of a process with PyTorch, its data set left out
_USUAL = (1000.0, 10.0)  # MEGABYTES of a model that does not declare them
_BATCH = 64  # samples of a mini-batch for which MEGABYTES are declared
_TABLES = 2  # vectors of model size that a method may store for each client
_SPILLED = 4000  # MB of these; beyond `Machine.state_gb` they lie on disk
_MAPPED = 4000  # MB of a data set; a larger one is mapped from a file


def minutes(seconds: float) -> int:
    """The time limit of a job that is expected to take so long."""
    return _START + math.ceil(_FACTOR * seconds / 60)


def memory_mb(run: RunSpec) -> int:
    """The memory of a process that trains the run."""
    model = registry.find("model", run.model.name).constants
    training, weights = model.get("MEGABYTES") or _USUAL
    states = min(_TABLES * run.clients * weights, _SPILLED) if run.parts else 0.0
    batch = run.batch or assumed_samples(run.dataset)[0] / run.clients  # or all that a client has
    batches = max(1.0, batch / _BATCH) * training
    return math.ceil(_PROCESS + _data(run.dataset) + batches + states)


def _data(dataset: Choice) -> float:
    """A data set in memory, twice, as while it is read; samples without a shape are small."""
    shape = registry.find("dataset", dataset.name).constants.get("SHAPE") or (0,)
    return min(2 * sum(assumed_samples(dataset)) * math.prod(shape) / 2**20, _MAPPED)
