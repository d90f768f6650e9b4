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
    shell:
        "python -m fedbench track {params.selection} "
        f"{RESULTS} {options(uri=config['tracking_uri'])} "
        "> {log:q} 2>&1 || (cat {log:q} >&2; exit 1)"
