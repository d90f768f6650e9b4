# What all rules share: the settings, the plan, and the paths that follow from it.
#
# The plan is made here, as Snakemake must know the jobs, and only read by all that follows. Nothing
# is written before a rule does, but for the file that `--sdm conda` needs: a dry run leaves no trace.
# What decides about making something anew stands in `params`, or in a file's time or absence.
import gc
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.settings.types import DeploymentMethod

import fedbench
from fedbench.base.checksums import version_of
from fedbench.base.errors import FedbenchError
from fedbench.base.files import exists
from fedbench.base.processes import print_anything
from fedbench.base.plugins import nearby
from fedbench.base.yamlfile import split
from fedbench.data.source import data_folder
from fedbench.jobs.workflow_start_and_end import require_folders, require_past
from fedbench.jobs.status import lost
from fedbench.paper.workflow_config import checked_settings
from fedbench.plan.cost import Speeds
from fedbench.plan.conda_environment import command, write_environment
from fedbench.plan.plan import make_plan
from fedbench.plan.plan_file import PlanFile
from fedbench.plan.workflow_paths import WorkflowPaths, options

# A plan of 100,000 runs is millions of objects that live as long as the process: looking through them
# for garbage at Python's usual pace takes a sixth of the time.
gc.set_threshold(100_000, 50, 50)
print_anything()

# `workflow/` beside the Snakefile: fedbench's own settings, papers and scales
HOME = nearby(Path(workflow.basedir, "workflow"))


configfile: HOME / "config.yaml"


try:
    config.update(checked_settings(config, workflow.config_settings.config_args or ()))
    # a job of a cluster has the plan that it was sent with, whichever paper was edited since
    SENT = "" if workflow.is_main_process else os.environ.get("FEDBENCH_PLAN", "")
    if exists(SENT):
        PLAN = PlanFile(Path(SENT)).plan()
    else:
        PLAN = make_plan(
            HOME,
            config["scale"],
            split(config["papers"]),
            split(config["tables"]),
        )
    TRAINED = PLAN.to_train(config["train"])
    SPEEDS = Speeds(PLAN.cuts.speeds)
    PATHS = WorkflowPaths(
        PLAN,
        TRAINED,
        Path(config["results"]),
        Path(config["reports"]),
        HOME,
        copies=config["copies"] == "all",
    )
    if workflow.is_main_process:
        os.environ.update(FEDBENCH_PLAN=str(PATHS.plan.resolve()))
        require_folders(PATHS.results, PATHS.reports)
        require_past(PATHS.read(data_folder(config["data_dir"])))
except FedbenchError as error:
    raise WorkflowError(str(error))

if workflow.is_main_process:
    for line in lost(PATHS.lost()):
        print(line, file=sys.stderr)

SELECTION = options(
    workflow=HOME, **{name: config[name] for name in ("scale", "papers", "tables")}
)
SCALE = options(scale=config["scale"])
RESULTS = options(results=PATHS.results)
# Frames and reports are made anew when fedbench was updated; runs are not, unless NUMERICS was raised
CODE = version_of(Path(fedbench.__file__).parent)
DATA_DIR = options(data_dir=config["data_dir"]) if config["data_dir"] else ""

# The conda environment of the rules, which Snakemake makes if it is started with `--sdm conda`
ENVIRONMENT = Path(workflow.basedir, "environment.yml")
CONDA = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
if CONDA:
    ENVIRONMENT = write_environment(ENVIRONMENT, Path(".snakemake/environment.yml"))
FEDBENCH = command(CONDA)

# Addresses may hold a password, which no command line, message or log shall show
os.environ.update(
    FEDBENCH_TRACKING_URI=config["tracking_uri"], FEDBENCH_LIVE=config["live"]
)

FIRST = 10**9  # the priority of jobs that the longest training jobs may wait for


# Writes the plan, which every later step reads. Parts, models and partitions are built once here, so
# that a bad value is refused before any training. The file is named after what is in it, and the plans
# of other selections are deleted: so a plan that is there is this one, whatever Snakemake remembers.
rule plan:
    input:
        PATHS.sources,
    output:
        PATHS.plan,
    log:
        PATHS.of_scale / "logs/plan.log",
    priority: FIRST + 1  # all training waits for it; data sets are loaded beside it
    conda:
        ENVIRONMENT
    params:
        selection=SELECTION,
    shell:
        f"{FEDBENCH} "
        f"plan {{params.selection}} {RESULTS} --check --write "
        "> {log:q} 2>&1 || (cat {log:q} >&2; exit 1)"
