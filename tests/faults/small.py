"""A small grid in this process: tidy, plan, train, choose, collect, as the workflow does."""

import hashlib
import json
import re
import shutil
from pathlib import Path

from fedbench import FedbenchError, Machine
from fedbench.base.files import write_text
from fedbench.jobs.collect import collect
from fedbench.jobs.train import train
from fedbench.jobs.workflow_start_and_end import tidy
from fedbench.plan.plan import Plan, make_plan
from fedbench.plan.plan_file import PlanFile, fingerprint, write_plan
from fedbench.plan.search import select
from fedbench.store import Results, read_frame, write_frame
from tests.faults.counts import COUNTS

PAPER = """
title: A grid to be disturbed
authors: Nobody
settings: {model: {mlp: {hidden: 4}}, clients: 10, participation: 0.3, rounds: 12, lr: 0.1}
levels:
  method:
    SCAFFOLD: {parts: [scaffold]}
    Searched: {parts: [{fedprox: {mu: 0.1}}], rounds: 4, tune: {grid: {lr: [0.1, 0.3]}}}
grids:
  main: {axes: {method: [SCAFFOLD, Searched]}, seeds: [0, 1]}
tables:
  table1: {title: Table I, grid: main, rows: [], columns: [method]}
"""
CPU = Machine(device="cpu", workers=1, checkpoint_minutes=1e-9)  # a checkpoint after each round
SCALE, NAME = "paper", "tiny"


class Small:
    """The grid in a folder. `go` is the same command each time: it does what is left to do."""

    def __init__(self, folder: Path) -> None:
        self.workflow, self.results = folder / "workflow", folder / "results"
        self.paths = Results(self.results)
        for name, text in (("papers/tiny.yaml", PAPER), ("scales/paper.yaml", "about: All.\n")):
            (self.workflow / name).parent.mkdir(parents=True, exist_ok=True)
            (self.workflow / name).write_text(text)

    def go(self) -> str:
        """Do what is left, and return the table; a fault ends in `FedbenchError`."""
        tidy(self.results, self.results.with_name("reports"))
        planned = self.plan()
        self.train([run_id for ids in planned.trials.values() for run_id in ids])
        for search in planned.trials:
            self.choose(search)
        self.train(list(planned.of_paper(NAME)))
        return self.table()

    def plan(self) -> Plan:
        wanted = make_plan(self.workflow, SCALE)
        self.file = self.paths.plan(SCALE, fingerprint(wanted))
        if not self.file.exists():
            write_plan(wanted, self.results)
        return PlanFile(self.file).plan()

    def train(self, run_ids: list[str]) -> None:
        said: list[str] = []
        if train(PlanFile(self.file).runs(run_ids), run_ids, self.results, CPU, None, said.append):
            raise FedbenchError(next(s for s in said if ": failed: " in s).split(": failed: ")[1])

    def choose(self, search: str) -> None:
        file = self.paths.winner(search)
        if not file.exists():
            winner = select(PlanFile(self.file).searched(search), self.results)
            write_text(file, json.dumps(winner))

    def table(self) -> str:
        """All numbers of all runs but for seconds; collected once, as the rule does."""
        file = self.paths.frame(SCALE, NAME)
        if not file.exists():
            write_frame(collect(PlanFile(self.file).of_paper(NAME), self.results), file)
        frame = read_frame(file)
        return frame[[name for name in frame if not name.endswith("_seconds")]].to_csv()

    def finished(self) -> dict[Path, str]:
        """The checksum of each file of each finished run."""
        files = [
            file
            for record in self.paths.records()
            for file in record.parent.iterdir()
            if file.name == "run.json" or file.suffix == ".parquet"
        ]
        COUNTS["files checked"] += len(files)
        return {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def way_out(sentence: str) -> None:
    """Do what the sentence says: delete the folder or the file that it names."""
    if folder := re.search(r"delete the folder (\S+)", sentence):
        shutil.rmtree(folder[1])
    elif re.search(r"delete (it|the file)\b", sentence):
        Path(sentence.partition(": ")[0]).unlink()
    else:
        COUNTS["dead ends"] += 1
        raise AssertionError(f"no way out: {sentence}")


def recovered(grid: Small) -> str:
    """The table after as many ways out as it takes."""
    for _ in range(6):
        try:
            return grid.go()
        except FedbenchError as error:
            way_out(str(error))
    COUNTS["dead ends"] += 1
    raise AssertionError("the ways out lead nowhere")
