# What every station needs: the settings, the plan, and the paths that follow from it.
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

from fedbench.base.errors import FedbenchError
from fedbench.base.yamlfile import split
from fedbench.plan.outlook import planned
from fedbench.plan.workflow import WorkflowPaths, options


configfile: "workflow/config.yaml"


validate(config, Path(workflow.basedir, "workflow/schemas/config.schema.json"))

try:
    PLAN = planned(
        Path("workflow"),
        config["scale"],
        split(config["papers"]),
        split(config["tables"]),
    )
except FedbenchError as error:
    raise WorkflowError(str(error))

PATHS = WorkflowPaths(PLAN, Path(config["results"]), Path(config["reports"]))
SELECTION = options(**{name: config[name] for name in ("scale", "papers", "tables")})
RESULTS = options(results=PATHS.results)
DATA_DIR = options(data_dir=config["data_dir"]) if config["data_dir"] else ""


# What the workers and the collector read; parts, models and partitions are built once here, so
# that a bad value is refused before any training.
rule plan:
    input:
        PATHS.sources,
    output:
        PATHS.plan,
    log:
        PATHS.log("plan"),
    conda:
        "../../environment.yml"
    params:
        selection=SELECTION,
    shell:
        "python -m fedbench plan {params.selection} --check --json > {output:q} 2> {log:q} "
        "|| (cat {log:q} >&2; exit 1)"
