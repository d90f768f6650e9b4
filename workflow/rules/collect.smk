# Gathers a paper's histories into one tidy frame: a row per run and evaluated round.
rule collect:
    input:
        plan=LAYOUT.plan,
        runs=lambda wildcards: LAYOUT.stamps(wildcards.paper),
    output:
        LAYOUT.frame("{paper}"),
    log:
        LAYOUT.log("collect-{paper}"),
    conda:
        "../../environment.yml"
    shell:
        "python -m fedbench collect {wildcards.paper:q} --plan {input.plan:q} --out {output:q} "
        f"{RESULTS} "
        "> {log:q} 2>&1 || (cat {log:q} >&2; exit 1)"
