# Copies the runs into MLflow in one job at the end, so that no training job waits for the database.
# Where nothing is trained, nothing is copied.
#
# The database is no output: Snakemake deletes outputs before a job that makes them anew, and this one
# holds the runs of other scales too, or lies on a server.
from fedbench.base.checksums import digest

TRACKED = [PATHS.of_scale / "tracked"] if TRAINED.runs else []


rule track:
    input:
        FRAMES,
        plan=PATHS.plan,
    output:
        touch(PATHS.of_scale / "tracked"),
    log:
        PATHS.of_scale / "logs/track.log",
    conda:
        ENVIRONMENT
    params:
        runs=[PATHS.key(paper) for paper in PLAN.papers],
        uri=digest(config["tracking_uri"]),  # in which a password may stand
    shell:
        f"{FEDBENCH} "
        f"track {SCALE} {RESULTS} "
        "> {log:q} 2>&1 || (cat {log:q} >&2; exit 1)"
