"""Where everything below a results folder lies; no other module spells these paths."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fedbench.base.files import matching
from fedbench.store.run import RunFolder


@dataclass(frozen=True)
class Results:
    """The paths below the folder `root`.

    Runs, facts of data sets and winners of searches are shared by all scales; a plan, the frames
    collected for its papers, its logs and its stamps lie in a folder of the scale's name.
    """

    root: Path

    @cached_property
    def runs(self) -> Path:
        """The folder that holds one folder per run."""
        return self.root / "runs"

    def run(self, run_id: str) -> RunFolder:
        """The folder of a run."""
        return RunFolder(self.runs / run_id)

    def beside_runs(self) -> list[Path]:
        """The folders below the root but for that of the runs, sorted."""
        return [each for each in matching(self.root, "*/") if each != self.runs]

    def records(self) -> list[Path]:
        """The records of all runs that were trained to their end, sorted."""
        return matching(self.runs, "*/run.json")

    def stamp(self, run_id: str) -> Path:
        """The empty file that Snakemake writes when the job that trained the run succeeded."""
        return self.runs.joinpath(run_id, ".done")

    def data(self, key: str) -> Path:
        """The facts of a data set: its size, where it came from, its checksum."""
        return self.root / "data" / f"{key}.json"

    def facts(self) -> list[Path]:
        """The facts of all data sets, sorted."""
        return matching(self.root / "data", "*.json")

    def winner(self, search: str) -> Path:
        """The settings that a search chose."""
        return self.root / "searches" / f"{search}.json"

    @property
    def database(self) -> Path:
        """MLflow's database, where no other is asked for."""
        return self.root / "mlflow.db"

    def plan(self, scale: str, fingerprint: str) -> Path:
        """The plan of a scale that has this fingerprint, which all later steps read."""
        return self.root / scale / f"plan-{fingerprint}.json"

    def plans(self, scale: str) -> list[Path]:
        """The plans of a scale that are there, sorted: the workflow leaves one."""
        return matching(self.root / scale, "plan-*.json")

    def lock(self, scale: str) -> Path:
        """The file that the workflow holds which writes the plan, frames and stamps of a scale."""
        return self.root / scale / ".lock"

    def frame(self, scale: str, paper: str) -> Path:
        """The histories of a paper's runs in one frame."""
        return self.root / scale / f"{paper}.parquet"

    def tracked(self, scale: str) -> Path:
        """The empty file written when the runs of a plan have been copied into MLflow."""
        return self.root / scale / "tracked"

    def nothing_missing(self, scale: str) -> Path:
        """The empty file written when no run of a plan has failed."""
        return self.root / scale / "nothing-missing"

    def log(self, scale: str, name: str) -> Path:
        """What a job of the workflow printed."""
        return self.root / scale / "logs" / f"{name}.log"
