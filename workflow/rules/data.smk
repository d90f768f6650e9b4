# Loads each data set once, downloading it where there is a network, and writes down its checksum.
from fedbench.plan.data_checks import files


# The user's own files are inputs, so that one that was replaced is loaded again. A missing one is
# no input: the job then says in a sentence which file it looked for.
rule data:
    input:
        lambda wildcards: files(
            PATHS.dataset(wildcards.dataset), data_folder(config["data_dir"])
        ),
    output:
        PATHS.folders.data("{dataset}"),
    log:
        PATHS.of_scale / "logs/data-{dataset}.log",
    priority: FIRST
    conda:
        ENVIRONMENT
    params:
        dataset=lambda wildcards: PATHS.dataset(wildcards.dataset).model_dump_json(),
        folder=DATA_DIR,
    shell:
        f"{FEDBENCH} "
        "data {params.dataset:q} {params.folder} --out {output:q} "
        "> {log:q} 2>&1 || (cat {log:q} >&2; exit 1)"
