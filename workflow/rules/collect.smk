# Gathers the histories of a paper's runs into one frame: one row per run and evaluated round.
#
# The facts of the data sets are inputs, so that a data set that was replaced is noticed. So are trials
# and what they chose: training jobs take a choice for ancient, and where a file that exists is made anew
# Snakemake 9 overlooks all that depends on it in this way alone, however much of it is missing. Where
# not all runs are trained, those that are not finished are left out.
WHOLE = "--whole" if config["train"] == "all" else "--no-whole"


rule collect:
    input:
        plan=PATHS.plan,
        runs=lambda wildcards: PATHS.awaited(wildcards.paper, JOBS),
        data=lambda wildcards: PATHS.data_of(wildcards.paper),
        searches=lambda wildcards: PATHS.winners(wildcards.paper),
        gone=lambda wildcards: PATHS.gone(wildcards.paper, JOBS),
    output:
        PATHS.frame("{paper}"),
    log:
        PATHS.of_scale / "logs/collect-{paper}.log",
    conda:
        ENVIRONMENT
    params:
        code=CODE,
        runs=lambda wildcards: PATHS.key(wildcards.paper),
        whole=WHOLE,
    shell:
        f"{FEDBENCH} "
        "collect {wildcards.paper:q} --plan {input.plan:q} --out {output:q} "
        f"{RESULTS} "
        "{params.whole} > {log:q} 2>&1 || (cat {log:q} >&2; exit 1)"
