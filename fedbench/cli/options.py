"""The options that several commands have, each declared once."""

from pathlib import Path
from typing import Annotated

import typer

from fedbench.base.plugins import project

RESULTS = Path("results")  # the default of `Results`
WORKFLOW = Path("workflow")  # the default of `Workflow`


def _workflow(named: Path) -> Path:
    """The default is `workflow` in the working folder, else the one that comes with fedbench."""
    return project() / "workflow" if named == WORKFLOW else named


Results = Annotated[
    Path, typer.Option("--results", help="Folder with the runs and the frames collected from them.")
]
Workflow = Annotated[
    Path,
    typer.Option("--workflow", callback=_workflow, help="Folder with papers/ and scales/."),
]
DataFolder = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        help="Folder of the data files. Default: the environment variable FEDBENCH_DATA, "
        "else the user's cache folder.",
    ),
]
Scale = Annotated[
    str,
    typer.Option(help="How far the papers are cut down: a file in scales/, without its ending."),
]
Papers = Annotated[
    str, typer.Option(help="Names of papers, separated by commas. Default: all papers.")
]
Tables = Annotated[
    str,
    typer.Option(
        help="Keys of tables and figures, separated by commas, such as table1,rmfl/fig7. "
        "Default: all."
    ),
]
Full = Annotated[bool, typer.Option("--full", help="Show all that there is.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON in place of a table.")]
Device = Annotated[
    str,
    typer.Option(help="Where to train: 'cpu', 'cuda', 'cuda:1', or 'auto': a GPU or else the CPU."),
]
Cores = Annotated[str, typer.Option(help="Cores to use: a number or 'all'.")]
DATA_SET = "A data set's name, or with parameters '{file: {path: mine.csv}}'."
THREADS = "Threads that train clients side by side, with the same results for any number."
CheckpointMinutes = Annotated[float, typer.Option(help="Minutes between two checkpoints of a run.")]
Live = Annotated[
    str,
    typer.Option(
        metavar="TRACKER",
        envvar="FEDBENCH_LIVE",
        show_envvar=False,
        help="Follow the rounds while they are trained: 'mlflow', with its database in the folder "
        "of the results, or with an address: 'mlflow=http://localhost:5000'. Default: nowhere.",
    ),
]
PlanFile = Annotated[
    Path, typer.Option("--plan", help="A plan, as `fedbench plan --json` prints it.")
]
