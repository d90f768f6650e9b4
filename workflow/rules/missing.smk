# Fails at the end, once the report is written, if runs have failed; another try finds the same.
#
# It looks into the folders of all runs that were to be trained, which the pages have waited for.
COMPLETE = PATHS.nothing_missing


rule missing:
    input:
        PAGES,
        plan=PATHS.plan,
    output:
        touch(COMPLETE),
    log:
        PATHS.log("missing"),
    retries: 0
    conda:
        ENVIRONMENT
    params:
        train=options(train=config["train"]),
    shell:
        f"{FEDBENCH} missing {SCALE} {RESULTS} {{params.train}} " "> {log:q} 2>&1"
