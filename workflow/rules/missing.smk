# Fails at the end, once the report is written, if runs have failed; another try finds the same.
COMPLETE = PATHS.nothing_missing


rule missing:
    input:
        PAGES,
        plan=ancient(PATHS.plan),
    output:
        touch(COMPLETE),
    log:
        PATHS.log("missing"),
    retries: 0
    conda:
        ENVIRONMENT
    shell:
        "python -m fedbench missing --plan {input.plan:q} "
        f"{RESULTS} "
        "> {log:q} 2>&1"
