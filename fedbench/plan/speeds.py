"""How fast models train: as finished runs did, or without such runs as the model declares."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fedbench.base import registry
from fedbench.base.errors import FedbenchError
from fedbench.base.files import read_json
from fedbench.base.strict import checked
from fedbench.spec import Choice, RunSpec
from fedbench.store import Results, require_record

_REMEDY = "delete it to train the run again"
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
    """The speeds of the finished runs in `results`; `core` has those of models without runs."""
    total: dict[tuple[bool, str], tuple[float, float]] = {}
    for file in Results(results).records():
        on_cpu, model, passes, seconds = _reached(file)
        if seconds > 0:
            done = total.get((on_cpu, model), (0.0, 0.0))
            total[on_cpu, model] = (done[0] + passes, done[1] + seconds)
    reached = {at: done / seconds for at, (done, seconds) in total.items()}
    here, gpu = ({m: v for (cpu, m), v in reached.items() if cpu is want} for want in (True, False))
    return Speeds({**(core or {}), **here}, gpu)


def _reached(file: Path) -> tuple[bool, str, float, float]:
    """Whether on a CPU, the model, samples trained on and seconds that it took."""
    content = read_json(file)
    if "objects" in content:  # no model that a plan could name
        return True, "", 0.0, 0.0
    record = require_record(file, content, _REMEDY)
    try:
        model = _named(checked(Choice, record.resolved["model"]))
        return record.device == "cpu", model, record.sample_passes, record.seconds["train"]
    except (FedbenchError, KeyError) as error:
        raise FedbenchError(f"{file}: not a run's record ({error!r}); {_REMEDY}") from None


def _named(model: Choice) -> str:
    """The model in words, without parameters written at their defaults, which change nothing."""
    return str(model.brief("model") if model.name in registry.entries("model") else model)
