# fedbench's workflow, from YAML to report: each step is one file of rules.
#
#   snakemake --cores all reproduce_tables                      every table at demo scale
#   snakemake --cores all reproduce_all --config scale=paper papers=rmfl
#   snakemake -s "$(fedbench workflow)" --cores all …           from any folder
from snakemake.utils import min_version

min_version("9.0")


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/collect.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/track.smk"
include: "workflow/rules/missing.smk"
include: "workflow/rules/display.smk"


rule reproduce_tables:
    default_target: True
    input:
        PATHS.plan,
        FRAMES,
        PAGES,
        TABLES,
        TRACKED,
        COMPLETE,


rule reproduce_figures:
    input:
        PATHS.plan,
        FRAMES,
        PAGES,
        FIGURES,
        TRACKED,
        COMPLETE,


rule reproduce_all:
    input:
        PATHS.plan,
        FRAMES,
        PAGES,
        TABLES,
        FIGURES,
        TRACKED,
        COMPLETE,
