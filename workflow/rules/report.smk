# Writes tables, figures and pages from the collected frames.
FRAMES = PATHS.frames()
PAGES = PATHS.pages()
TABLES = PATHS.tables()
FIGURES = PATHS.figures()


rule report:
    input:
        FRAMES,
        PATHS.sources,
    output:
        PAGES,
        TABLES,
        FIGURES,
    log:
        PATHS.log("report"),
    conda:
        ENVIRONMENT
    threads: GIVEN.cores or 1
    params:
        selection=SELECTION,
        code=CODE,
    shell:
        f"{FEDBENCH} "
        "report {params.selection} "
        f"{RESULTS} {options(out=PATHS.reports)} --workers {{threads}} "
        "> {log:q} 2>&1 || (cat {log:q} >&2; exit 1)"
