"""Four runs that differ in their seed, each of which is expected to take a second on a core."""

import json

from fedbench.plan.cost import Speeds
from fedbench.spec import RunSpec
from tests.engine.records import record
from tests.plan.bare import bare_plan

# 1,442 digits, 10 clients of which one takes part, 10 rounds: 1,442 samples at 1,442 per second
SPECS = [
    RunSpec(model="mlp", clients=10, participation=0.1, rounds=10, eval_every=10, seed=seed)
    for seed in range(4)
]
IDS = [spec.id for spec in SPECS]
SPEEDS = Speeds({"mlp": 1_442 + 355 / 3})  # and 355 test samples once, at a third of the cost


def plan(**papers):
    return bare_plan(SPECS, papers, {"0123": IDS[:1]})


def finish(results, run_id, seconds, status="finished"):
    folder = results / "runs" / run_id
    folder.mkdir(parents=True, exist_ok=True)
    spec = SPECS[IDS.index(run_id)]
    made = record(spec, status=status, seconds={"train": seconds})
    (folder / "run.json").write_text(json.dumps(made))
