"""The command `fetch`: all data of a scale, once, where there is a network."""

from pathlib import Path

import typer

from fedbench.base.errors import FedbenchError
from fedbench.base.yamlfile import split
from fedbench.cli.app import (
    DataFolder,
    Panel,
    Papers,
    Scale,
    Tables,
    WorkflowFolder,
    app,
    console,
    sentences,
)


@app.command(rich_help_panel=Panel.papers)
def fetch(
    scale: Scale = "demo",
    papers: Papers = "",
    tables: Tables = "",
    workflow: WorkflowFolder = Path("workflow"),
    data_dir: DataFolder = None,
) -> None:
    """Load every data set that a scale needs, downloading what is missing.

    On a cluster whose nodes have no network it is called once on the node where one logs in. The
    exit code is 2 if a data set is missing in the end.
    """
    with sentences():
        from fedbench.data.source import load_data
        from fedbench.plan.plan import make_plan

        plan = make_plan(workflow, scale, split(papers), split(tables))
        missing = 0
        for choice in {str(run.dataset): run.dataset for run in plan.runs.values()}.values():
            try:
                loaded = load_data(choice.name, choice.params, data_dir)
                sizes = f"{len(loaded.y_train):,} training and {len(loaded.y_test):,} test samples"
                console.print(f"{choice}: {sizes}, checksum {loaded.checksum[:12]}", soft_wrap=True)
            except FedbenchError as error:  # the other data sets are fetched all the same
                missing += 1
                console.print(f"{choice}: {error}", soft_wrap=True)
        if missing:
            console.print(f"{missing} data sets are missing")
            raise typer.Exit(2)
