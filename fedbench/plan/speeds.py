"""How fast models train: as finished runs did, or without such runs as the model declares."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from fedbench.base import registry
from fedbench.base.errors import FedbenchError
from fedbench.base.strict import checked
from fedbench.spec import Choice, RunSpec
from fedbench.store import Results, RunFolder

USUAL = 1_000.0  # samples per second on a core, of a model that declares no speed; a guess
GPU_CORES = 100  # an assumption, not a measurement; small models fill a GPU badly


@dataclass(frozen=True)
class Speeds:
    """Samples per second that finished runs trained on, by model: on one core and on one GPU."""

    core: dict[str, float] = field(default_factory=dict)
    gpu: dict[str, float] = field(default_factory=dict)

    def on_core(self, run: RunSpec) -> float:
        """Measured for the run's model, else the speed that the model declares, else `USUAL`."""
        declared = registry.find("model", run.model.name).constants.get("SAMPLES_PER_SECOND")
        return self.core.get(_named(run.model), float(declared or USUAL))

    def on_gpu(self, run: RunSpec) -> float:
        """Measured for the run's model, else that of `GPU_CORES` cores."""
        return self.gpu.get(_named(run.model), GPU_CORES * self.on_core(run))


def measured_speeds(results: Path, core: Mapping[str, float] | None = None) -> Speeds:
    """The speeds of the finished runs in `results`; `core` has those of models without runs.

    A damaged record says nothing of speed and is passed over; `status` and `collect` name it.
    """
    total: dict[tuple[bool, str], tuple[float, float]] = {}
    for file in Results(results).records():
        on_cpu, model, passes, seconds = _reached(RunFolder(file.parent))
        if seconds > 0:
            done = total.get((on_cpu, model), (0.0, 0.0))
            total[on_cpu, model] = (done[0] + passes, done[1] + seconds)
    reached = {at: done / seconds for at, (done, seconds) in total.items()}
    here, gpu = ({m: v for (cpu, m), v in reached.items() if cpu is want} for want in (True, False))
    return Speeds({**(core or {}), **here}, gpu)


def _reached(folder: RunFolder) -> tuple[bool, str, float, float]:
    """Whether on a CPU, the model, samples trained on and seconds that it took; 0 if unknown."""
    with suppress(FedbenchError, KeyError):
        record = folder.record() or {}
        if "objects" not in record:  # else it has no model that a plan could name
            model = _named(checked(Choice, record["resolved"]["model"]))
            passes, seconds = record["sample_passes"], record["seconds"]["train"]
            if all(isinstance(number, int | float) for number in (passes, seconds)):
                return record["device"] == "cpu", model, passes, seconds
    return True, "", 0.0, 0.0


def _named(model: Choice) -> str:
    """The model in words, without parameters written at their defaults, which change nothing."""
    return str(model.brief("model") if model.name in registry.entries("model") else model)
