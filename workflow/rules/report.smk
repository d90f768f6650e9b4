# Draws tables, figures and pages from the collected frames.
PAGES = LAYOUT.pages()
TABLES = LAYOUT.tables()
FIGURES = LAYOUT.figures()


rule report:
    input:
        LAYOUT.frames(),
        LAYOUT.sources,
    output:
        PAGES,
        TABLES,
        FIGURES,
    log:
        LAYOUT.log("report"),
    conda:
        "../../environment.yml"
    params:
        selection=SELECTION,
    shell:
        "python -m fedbench report {params.selection} "
        f"{RESULTS} {options(out=LAYOUT.reports)} "
        "> {log:q} 2>&1 || (cat {log:q} >&2; exit 1)"
