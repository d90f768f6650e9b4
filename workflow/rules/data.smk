# Loads each data set once, downloading it where there is a network, and notes its checksum.
rule data:
    output:
        LAYOUT.data("{dataset}"),
    log:
        LAYOUT.log("data-{dataset}"),
    conda:
        "../../environment.yml"
    params:
        folder=DATA_DIR,
    shell:
        "python -m fedbench data {wildcards.dataset:q} {params.folder} > {output:q} 2> {log:q} "
        "|| (cat {log:q} >&2; exit 1)"
