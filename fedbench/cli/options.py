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


_RESULTS = "Folder with the runs and the frames collected from them."
_DATA = (
    "Folder of the data files. Default: the environment variable FEDBENCH_DATA, else the user's "
    "cache folder."
)
_SCALE = "How far the papers are cut down: a file in scales/, without its ending."
_PAPERS = "Names of papers, separated by commas. Default: all papers."
_TABLES = "Keys of tables and figures, separated by commas, such as table1,rmfl/fig7. Default: all."
_DEVICE = "Where to train: 'cpu', 'cuda', 'cuda:1', or 'auto': a GPU or else the CPU."
_LIVE = (
    "Follow the rounds while they are trained: 'mlflow', with its database in the folder of the "
    "results, or with an address: 'mlflow=http://localhost:5000'. Default: nowhere."
)
_PLAN = "A plan, as `fedbench plan --json` prints it."
DATA_SET = "A data set's name, or with parameters '{file: {path: mine.csv}}'."
THREADS = "Threads that train clients side by side, with the same results for any number."

Results = Annotated[Path, typer.Option(help=_RESULTS)]
Workflow = Annotated[Path, typer.Option(callback=_workflow, help="Folder with papers/, scales/.")]
DataFolder = Annotated[Path | None, typer.Option(help=_DATA)]
Scale = Annotated[str, typer.Option(help=_SCALE)]
Papers = Annotated[str, typer.Option(help=_PAPERS)]
Tables = Annotated[str, typer.Option(help=_TABLES)]
Full = Annotated[bool, typer.Option("--full", help="Show all that there is.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON in place of a table.")]
Device = Annotated[str, typer.Option(help=_DEVICE)]
Cores = Annotated[str, typer.Option(help="Cores to use: a number or 'all'.")]
CheckpointMinutes = Annotated[float, typer.Option(help="Minutes between two checkpoints of a run.")]
Live = Annotated[
    str, typer.Option(metavar="TRACKER", envvar="FEDBENCH_LIVE", show_envvar=False, help=_LIVE)
]
PlanFile = Annotated[Path, typer.Option(help=_PLAN)]
