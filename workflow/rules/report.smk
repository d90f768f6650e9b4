# Writes tables, figures and pages from the collected frames.
#
# It reads the records and the probes' tables of the runs in the frames, too: a frame is newer than all
# runs that it was collected from. Which methods have a page, which figures a table of their numbers and
# which tables a diagram of ranks is known once they are made: `files.txt`, one of the pages' files, lists
# all that was written.
from fedbench.base.files import sha256_of

FRAMES = [PATHS.frame(paper) for paper in PLAN.papers]
PAGES = PATHS.pages()
TABLES = PATHS.tables()
FIGURES = PATHS.figures()


rule report:
    input:
        FRAMES,
        PATHS.sources,
        plan=PATHS.plan,
        searches=ancient(PATHS.choices()),
        data=ancient([PATHS.data_of(paper) for paper in PLAN.papers]),
    output:
        PAGES,
        TABLES,
        FIGURES,
    log:
        PATHS.of_scale / "logs/report.log",
    conda:
        ENVIRONMENT
    threads: max(1, (GIVEN.cores or 1) - 1)  # so that `track` may copy runs beside it
    resources:
        workers=GIVEN.cores or 1,
    params:
        selection=SELECTION,
        sources=[sha256_of(file) for file in PATHS.sources],  # one may go, or get older
        code=CODE,
        copies="--copies" if PATHS.copies else "--no-copies",
    shell:
        f"{FEDBENCH} "
        f"report {SCALE} {options(workflow=HOME, out=PATHS.reports)} "
        f"{RESULTS} {{params.copies}} --workers {{resources.workers}} "
        "> {log:q} 2>&1 || (cat {log:q} >&2; exit 1)"
