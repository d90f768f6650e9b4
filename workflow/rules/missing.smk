# Fails at the end, once the report is written, if runs have failed; another try finds the same.
COMPLETE = PATHS.nothing_missing


rule missing:
    input:
        PAGES,
    output:
        touch(COMPLETE),
    log:
        PATHS.log("missing"),
    retries: 0
    conda:
        ENVIRONMENT
    params:
        selection=SELECTION,
        train=options(train=config["train"]),
    shell:
        f"{FEDBENCH} "
        "missing {params.selection} {params.train} "
        f"{RESULTS} "
        "> {log:q} 2>&1"
