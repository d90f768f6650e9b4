# Copies the runs into MLflow in one job at the end, so that no training job waits for the database.
# Where nothing is trained, nothing is copied.
TRACKED = [PATHS.tracked] if TRAINED.runs else []


rule track:
    input:
        PATHS.frames(),
    output:
        touch(PATHS.tracked),
    log:
        PATHS.log("track"),
    conda:
        ENVIRONMENT
    params:
        selection=SELECTION,
    shell:
        f"{FEDBENCH} "
        "track {params.selection} "
        f"{RESULTS} "
        "> {log:q} 2>&1 || (cat {log:q} >&2; exit 1)"
