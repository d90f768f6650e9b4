# What every station needs: the settings, the plan, and the paths that follow from it.
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

from fedbench.errors import FedbenchError
from fedbench.plan import make_plan
from fedbench.layout import Layout, split


configfile: "workflow/config.yaml"


validate(config, Path(workflow.basedir, "workflow/schemas/config.schema.json"))

try:
    PLAN = make_plan(
        Path("workflow"),
        config["scale"],
        split(config["papers"]),
        split(config["tables"]),
    )
except FedbenchError as error:
    raise WorkflowError(str(error))

LAYOUT = Layout(PLAN, Path(config["results"]), Path(config["reports"]))
SELECTION = f"--scale {config['scale']} --papers '{config['papers']}' --tables '{config['tables']}'"
DATA_DIR = f"--data-dir '{config['data_dir']}'" if config["data_dir"] else ""


# What the workers and the collector read; parts, models and partitions are built once here, so
# that a bad value is refused before any training.
rule plan:
    input:
        LAYOUT.sources,
    output:
        LAYOUT.plan,
    log:
        LAYOUT.log("plan"),
    conda:
        "../../environment.yml"
    params:
        selection=SELECTION,
    shell:
        "python -m fedbench plan {params.selection} --check --json > {output} 2> {log} "
        "|| (cat {log} >&2; exit 1)"
