# Loads each data set once, downloading it where there is a network, and notes its checksum.
rule data:
    output:
        LAYOUT.data("{dataset}"),
    log:
        LAYOUT.log("data-{dataset}"),
    params:
        folder=DATA_DIR,
    conda:
        "../../environment.yml"
    shell:
        "python -m fedbench data {wildcards.dataset} {params.folder} > {output} 2> {log} "
        "|| (cat {log} >&2; exit 1)"
