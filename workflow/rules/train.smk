# Trains the runs: each job trains several in one process, with one thread unless asked for more.
#
# A job's outputs are stamps beside the runs, not the runs themselves: when a job fails Snakemake
# deletes its outputs, and a finished run must survive that. The worker skips finished runs.
#
# A job whose runs failed (exit code 3) counts as done, so that the report is built from the others;
# the rule `missing` then fails, and the next start trains them again.
#
# `gpu` is what a cluster is asked for, in whole GPUs; `gpu_percent` lets several jobs share a GPU of
# the machine on which Snakemake was started with `--resources gpu_percent=100`, or 100 for each of
# its GPUs.
#
# The jobs fill the cores that Snakemake was given. On a cluster, where it counts nodes, and in a
# process that was started there, a job takes about 20 minutes by the plan. A second try, after a job
# was killed there, is given twice the time and memory, and goes on from the checkpoints.
#
# The shell waits for its process when it gets a signal too: it would leave it alone with its round.
import math
import shlex

GIVEN = workflow.resource_settings
CLUSTER = workflow.remote_exec or GIVEN.nodes is not None
AT_ONCE = None if CLUSTER else max(1, (GIVEN.cores or 1) // config["workers"])

ON_GPU = config["gpus"] > 0

JOBS = PATHS.jobs(config["runs_per_job"], AT_ONCE, SPEEDS, ON_GPU)

for number, job in enumerate(JOBS):
    if workflow.is_main_process and not PATHS.is_left(job):
        continue

    rule:
        name:
            f"train_{number}"
        input:
            plan=ancient(PATHS.plan),
            data=ancient(PATHS.folders.data(job.data)),
            searches=ancient([PATHS.folders.winner(job.search)] if job.search else []),
            again=PATHS.again(job),
        output:
            touch(PATHS.stamps(job.runs)),
        log:
            PATHS.of_scale / f"logs/train-{number}.log",
        priority: len(JOBS) - number
        conda:
            ENVIRONMENT
        threads: config["workers"]
        resources:
            gpu=math.ceil(config["gpus"]),
            gpu_percent=round(100 * config["gpus"]),
            request_gpus=math.ceil(config["gpus"]),  # as HTCondor calls it, and its memory below
            mem_mb=lambda wildcards, attempt, job=job: job.memory_mb
            * 2 ** (attempt - 1),
            htcondor_request_mem_mb=lambda wildcards, attempt, job=job: job.memory_mb
            * 2 ** (attempt - 1),
            runtime=lambda wildcards, attempt, job=job: job.minutes * 2 ** (attempt - 1),
        shell:
            f"trap : TERM INT HUP USR1; {FEDBENCH} "
            "train {output:q} --plan {input.plan:q} "
            f"{RESULTS} {DATA_DIR} "
            f"{options(device=config['device'], workers=config['workers'])} "
            "> {log:q} 2>&1 || [ $? -eq 3 ] || (tail -n 20 {log:q} >&2; exit 1)"


# Chooses the best settings of a search from its finished trials. A choice that is there waits for no
# plan: Snakemake would make it again wherever the plan is another one.
rule select:
    input:
        plan=lambda wildcards: (
            []
            if exists(PATHS.folders.winner(wildcards.search))
            else ancient(PATHS.plan)
        ),
        trials=lambda wildcards: ancient(PATHS.trial_stamps(wildcards.search)),
    output:
        PATHS.folders.winner("{search}"),
    log:
        PATHS.of_scale / "logs/select-{search}.log",
    priority: FIRST
    conda:
        ENVIRONMENT
    shell:
        f"{FEDBENCH} "
        f"select {{wildcards.search:q}} --plan {shlex.quote(str(PATHS.plan))} {RESULTS} "
        "> {log:q} 2>&1 || (cat {log:q} >&2; exit 1)"
