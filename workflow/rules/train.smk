# Trains runs in batches, each batch in one single-threaded process, each run in its own folder.
#
# The outputs are stamps beside the runs, not the runs themselves: when a batch fails Snakemake
# deletes its outputs, and a finished run must survive that. The worker skips finished runs.
for batch in LAYOUT.batches(config["batch_size"]):

    rule:
        name:
            batch.name
        input:
            plan=ancient(LAYOUT.plan),
            data=ancient(batch.data),
            searches=ancient(batch.searches),
        output:
            touch(batch.stamps),
        log:
            batch.log,
        conda:
            "../../environment.yml"
        threads: 1
        resources:
            gpu=config["gpus"],
            mem_mb=2000,
        shell:
            "python -m fedbench train {output:q} --plan {input.plan:q} "
            f"{RESULTS} {DATA_DIR} "
            f"{options(device=config['device'], mode=config['mode'])} "
            "> {log:q} 2>&1 || (tail -n 20 {log:q} >&2; exit 1)"


# Chooses the winner of a search from its finished trials.
rule select:
    input:
        plan=ancient(LAYOUT.plan),
        trials=lambda wildcards: ancient(LAYOUT.trial_stamps(wildcards.search)),
    output:
        LAYOUT.winner("{search}"),
    log:
        LAYOUT.log("select-{search}"),
    conda:
        "../../environment.yml"
    shell:
        "python -m fedbench select {wildcards.search:q} --plan {input.plan:q} "
        f"{RESULTS} "
        "> {log:q} 2>&1 || (cat {log:q} >&2; exit 1)"
