# Fails at the end, once the report is written, if runs have failed; another try finds the same.
#
# It looks into the folders of all runs that were to be trained, which the pages have waited for.
COMPLETE = PATHS.of_scale / "nothing-missing"


rule missing:
    input:
        PAGES,
        plan=PATHS.plan,
    output:
        touch(COMPLETE),
    log:
        PATHS.of_scale / "logs/missing.log",
    retries: 0
    conda:
        ENVIRONMENT
    params:
        train=options(train=config["train"]),
    shell:
        f"{FEDBENCH} missing {SCALE} {RESULTS} {{params.train}} " "> {log:q} 2>&1"
