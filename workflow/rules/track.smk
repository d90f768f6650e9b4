# Mirrors the run folders into MLflow, one step for all: nodes never touch the database.
TRACKED = LAYOUT.tracked


rule track:
    input:
        LAYOUT.frames(),
    output:
        touch(TRACKED),
    log:
        LAYOUT.log("track"),
    conda:
        "../../environment.yml"
    params:
        selection=SELECTION,
        uri=config["tracking_uri"],
    shell:
        "python -m fedbench track {params.selection} --uri '{params.uri}' "
        f"--results {LAYOUT.results} "
        "> {log} 2>&1 || (cat {log} >&2; exit 1)"
