"""A project whose runs were not trained but made up, with histories that one can check by hand."""

import hashlib
import json

import pandas as pd
import torch

from fedbench.plan.plan import make_plan
from fedbench.plan.search import points, select
from fedbench.store import Results, RunFolder, write_facts
from tests.project import PAPER, make_project

CHECKSUM = hashlib.sha256(b"digits").hexdigest()
# two searches with two trials each; the run of grid `again` has no search
SEARCHING = PAPER.replace(
    "seeds: [0, 1]", "seeds: [0, 1]\n    settings: {tune: {grid: {lr: [1, 2]}}}"
)


def finish(results, spec, accuracy=0.5, status="finished", **changes):
    """Write the folder of a run of two rounds that ended with this accuracy.

    Its search, if it has one, chose the first point of the grid.
    """
    chosen = points(spec.tune)[0] if spec.tune else {}
    record = {
        **{"id": spec.id, "status": status, "rounds": 2, "settings": spec.settings()},
        **{"resolved": spec.changed(tune=None, **chosen).model_dump(mode="json")},
        **{
            "seconds": {"train": 1.5},
            "sample_passes": 8,
            "device": "cpu",
            "data": {"name": "digits", "checksum": CHECKSUM},
        },
    }
    column = "val_accuracy" if spec.validation else "accuracy"
    history = pd.DataFrame({"round": [1, 2], column: [0.25, accuracy]})
    clients = pd.DataFrame({"client": [0], "label": [7], "count": [3]})
    RunFolder(Results(results).run(spec.id).path).finish(
        record | changes.pop("record", {}),
        history,
        changes.pop("tensors", {}),
        {"clients": clients},
    )


def with_weights():
    """What `finish` takes to write the weights of a model too."""
    return {"tensors": {"w": torch.ones(2)}}


def facts(results, checksum=CHECKSUM, **more):
    """Write the facts of the digits."""
    file = Results(results).data("digits")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_facts(file, {"name": "digits", "origin": {}, "checksum": checksum} | more)


def project(folder, paper=PAPER):
    """A project's plan; its results folder has all runs, winners and facts."""
    plan = make_plan(make_project(folder, paper) / "workflow", "paper")
    results = folder / "results"
    for spec in plan.runs.values():
        finish(results, spec, accuracy=0.5 + 0.1 * spec.seed)
    facts(results)
    for run_id, search in plan.searches.items():
        file = Results(results).winner(search)
        file.parent.mkdir(exist_ok=True)
        chosen = select(plan.runs[run_id], results)
        file.write_text(json.dumps(chosen, indent=2) + "\n")
    return plan


def content(results):
    """All files of a results folder that are not stamps, by path."""
    files = (file for file in results.rglob("*") if file.is_file() and file.name != ".done")
    return {file.relative_to(results).as_posix(): file.read_bytes() for file in files}
