"""The plan as a file: what the workers, the search and the collector read."""

import json
from pathlib import Path
from typing import Any

from fedbench.errors import FedbenchError, unknown
from fedbench.plan import Plan
from fedbench.spec import RunSpec
from fedbench.strict import Strict


class Schedule(Strict):
    """Runs by id, trial ids by search, and the run ids of each paper."""

    scale: str
    runs: dict[str, RunSpec]
    searches: dict[str, tuple[str, ...]]
    papers: dict[str, tuple[str, ...]]

    def run(self, run_id: str) -> RunSpec:
        """The settings of a run."""
        if run_id not in self.runs:
            raise unknown("run in this plan", run_id, self.runs)
        return self.runs[run_id]


def schedule(plan: Plan) -> Schedule:
    """What must be trained for a plan, trials included."""
    papers = {
        name: tuple(dict.fromkeys(cell.run.id for cell in plan.cells if cell.paper == name))
        for name in plan.papers
    }
    searches = {search: tuple(ids) for search, ids in plan.trials.items()}
    return Schedule(scale=plan.scale, runs=plan.runs, searches=searches, papers=papers)


def to_json(found: Schedule) -> str:
    """The schedule as text, each run with the settings that differ from the defaults."""
    plain: dict[str, Any] = found.model_dump(mode="json")
    plain["runs"] = {
        key: run.model_dump(mode="json", exclude_defaults=True) for key, run in found.runs.items()
    }
    return json.dumps(plain, indent=1) + "\n"


def load_schedule(file: Path) -> Schedule:
    """The inverse of `to_json`; raises `FedbenchError` naming the file."""
    try:
        plain = json.loads(file.read_text(encoding="utf-8"))
        runs = {key: RunSpec(**settings) for key, settings in plain["runs"].items()}
        return Schedule(**plain | {"runs": runs})
    except OSError as error:
        raise FedbenchError(f"{file}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError) as error:
        raise FedbenchError(
            f"{file}: is no plan ({error}); make it with `fedbench plan --json`"
        ) from None
