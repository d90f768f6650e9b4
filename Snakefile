# fedbench's workflow, from YAML to report: each step is one file of rules.
#
#   snakemake --cores all reproduce_tables                      every table at demo scale
#   snakemake --cores all reproduce_all --config scale=paper papers=rmfl
#   snakemake -s "$(fedbench workflow)" --cores all …           from any folder
from pathlib import Path

from snakemake.utils import min_version

from fedbench.plan.summary import summary

min_version("9.0")


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/collect.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/track.smk"


rule reproduce_tables:
    default_target: True
    input:
        PAGES,
        TABLES,
        TRACKED,


rule reproduce_figures:
    input:
        PAGES,
        FIGURES,
        TRACKED,


rule reproduce_all:
    input:
        PAGES,
        TABLES,
        FIGURES,
        TRACKED,


onsuccess:
    print(
        summary(
            PLAN, "".join(Path(file).read_text(encoding="utf-8") for file in log)
        )
    )
    print(f"The report: {PATHS.pages()[0]}")
