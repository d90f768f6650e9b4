# What is printed: runs done and time left while it runs, then a summary, or what failed and what to
# do. Snakemake's own messages are in its log file; `--verbose` shows them too.
import sys
from pathlib import Path

from snakemake.logging import logger

from fedbench.jobs.workflow_start_and_end import (
    claim,
    hold,
    let_retry,
    pass_signals_on,
    tidy,
)
from fedbench.jobs.progress import Display
from fedbench.jobs.status import Watcher, again, at_the_end
from fedbench.plan.cost import summary

DISPLAY = Display(
    lambda: Watcher(TRAINED, Path(config["results"]), SPEEDS),
    PATHS.pages()[0],
)
SHOWN = workflow.output_settings
if workflow.is_main_process and not SHOWN.dryrun:
    DISPLAY.attach(logger, SHOWN.verbose)


def ended():
    """End the line of progress; say what failed, and let the next start train it again."""
    seen = DISPLAY.stop()
    let_retry(TRAINED, seen, Path(config["results"]))
    for line in at_the_end(seen, again(sys.argv[1:]), config["scale"]):
        print(line, file=sys.stderr)


onstart:
    hold(Path())
    try:
        claim(PATHS.results, PATHS.reports, config["scale"])
    except FedbenchError as error:
        raise WorkflowError(str(error))
    tidy(Path(config["results"]), Path(config["reports"]))
    pass_signals_on()
    DISPLAY.start()


onsuccess:
    ended()
    print(summary(TRAINED, DISPLAY.took))
    print(f"The report: {PATHS.pages()[0]}")


onerror:
    ended()
