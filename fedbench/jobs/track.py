"""Copies finished runs into MLflow; a second call adds nothing, and no file is changed."""

from collections.abc import Mapping
from pathlib import Path

from mlflow.tracking import MlflowClient

from fedbench.base.files import require_writable
from fedbench.jobs import mlflow_tables
from fedbench.jobs.apart import say
from fedbench.jobs.copying import Copier
from fedbench.jobs.mlflow_client import answering, client_of, default_uri, experiment_of
from fedbench.jobs.told import RUN, VERSION, Copy
from fedbench.plan.plan import Plan
from fedbench.store import Results


def mirror(plan: Plan, results: Path, uri: str | None = None, workers: int = 1) -> int:
    """Copy every finished run of the plan that is not there; returns how many were added.

    A run that was trained again is copied again, and MLflow's run with the old numbers deleted:
    MLflow shows it no longer, but can restore it. One that somebody deleted in MLflow is copied
    again, and an experiment that was deleted there is restored with its runs.

    One experiment per scale and one MLflow run per training run, with its settings as params, the
    metrics of every evaluated round, and tags for papers, tables and the run's id. Raises
    `FedbenchError` if the results cannot be written, the database cannot be used or a run's files
    were changed.
    """
    require_writable(results)
    uri = uri or default_uri(results)
    with answering(uri):
        return _mirrored(plan, results, uri, workers)


def _mirrored(plan: Plan, results: Path, uri: str, workers: int) -> int:
    client = client_of(uri)
    experiment = experiment_of(client, f"fedbench-{plan.scale}", say)
    there, tags = _versions(plan, results), _tags(plan)
    local = mlflow_tables.known(uri)
    copies = mlflow_tables.copies(uri, experiment) if local else _copies(client, experiment)
    current = {each.run for each in copies if there.get(each.run) == each.version}
    left = {run_id: tags[run_id] for run_id in there if run_id not in current}
    added = Copier(uri, experiment, results).copy_all(left, workers)
    for each in copies:
        if each.version != there.get(each.run, each.version):
            client.delete_run(each.key)
    return added


def _versions(plan: Plan, results: Path) -> Mapping[str, str]:
    """By id of the plan's runs that have a record: which training of the run it tells of."""
    versions = {run_id: Results(results).run(run_id).version() for run_id in plan.runs}
    return {run_id: version for run_id, version in versions.items() if version is not None}


def _copies(client: MlflowClient, experiment: str) -> list[Copy]:
    """The runs that were copied to the end; one that was cut short is copied again.

    A server tells of runs only with all their metrics, params and tags.
    """
    copies: list[Copy] = []
    token: str | None = None
    while token != "":
        page = client.search_runs([experiment], "attributes.status = 'FINISHED'", page_token=token)
        tags = [(run.info.run_id, run.data.tags) for run in page]
        copies += [Copy(key, tag.get(RUN, ""), tag.get(VERSION, "")) for key, tag in tags]
        token = page.token or ""
    return copies


def _tags(plan: Plan) -> dict[str, dict[str, str]]:
    """By run: its papers, its tables and figures, and whether it is a trial of a search."""
    tags = {run_id: {"papers": set[str](), "tables": set[str]()} for run_id in plan.runs}
    for name, paper in plan.papers.items():
        for key, item in paper.items():
            for cell in plan.select(name, item.grid, item.where):
                tags[cell.run_id]["papers"].add(name)
                tags[cell.run_id]["tables"].add(f"{name}/{key}")
    trials = {run_id for ids in plan.trials.values() for run_id in ids}
    return {
        run_id: {f"fedbench.{k}": ", ".join(sorted(v)) for k, v in values.items()}
        | {"fedbench.role": "trial" if run_id in trials else "run"}
        for run_id, values in tags.items()
    }
