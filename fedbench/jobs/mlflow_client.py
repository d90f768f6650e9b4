"""Opens MLflow's database or server, or says within seconds why that is impossible."""

import os
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import mlflow
from mlflow.entities import LifecycleStage
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient
from sqlalchemy import event
from sqlalchemy.engine import Engine

from fedbench.base.errors import FedbenchError, quoted, short
from fedbench.base.files import exists
from fedbench.store import Results

_SQLITE = b"SQLite format 3\x00"  # what such a file begins with
_PATIENCE = 4  # seconds in which a server answers, or is away
# How long MLflow tries: a server that does not answer when it is opened is told of in ten seconds,
# one that goes away later too, but that may take longer over what it is sent.
_LATER = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1"}
_FIRST = _LATER | {"MLFLOW_HTTP_REQUEST_TIMEOUT": str(_PATIENCE)}


def default_uri(results: Path) -> str:
    """MLflow's database in the results folder."""
    return f"sqlite:///{Results(results).database.resolve()}"


def client_of(uri: str) -> MlflowClient:
    """A client of the tracking server or database; raises `FedbenchError` if it does not answer."""
    _refuse_no_database(uri)
    _refuse_no_server(uri)
    try:
        with _brief():
            client = MlflowClient(tracking_uri=uri)
            client.search_experiments(max_results=1)  # makes or migrates the database, alone
    except Exception as error:  # an error of MLflow, SQLAlchemy or requests
        raise unusable(uri, error, damaged=uri.startswith("sqlite:")) from None
    return client


@contextmanager
def _brief() -> Iterator[None]:
    """MLflow would try for minutes; in the block, and later in this process, it gives up sooner.

    Where the user has set MLflow's own variables, these hold.
    """
    own = {name: value for name, value in _FIRST.items() if name not in os.environ}
    os.environ.update(own)
    try:
        yield
    finally:
        for name in own.keys() - _LATER.keys():
            del os.environ[name]


@contextmanager
def answering(uri: str) -> Iterator[None]:
    """What fails in the block, as when a server goes away, is one sentence."""
    try:
        yield
    except MlflowException as error:
        raise unusable(uri, short(error), damaged=False) from None


def unusable(uri: str, error: object, damaged: bool) -> FedbenchError:
    """What is said of a database or server that fails; one that is damaged can be made anew."""
    way_out = "; delete the file to copy all runs anew" if damaged else ""
    return FedbenchError(f"tracking_uri = {uri!r} cannot be used: {error}{way_out}")


def experiment_of(client: MlflowClient, name: str, say: Callable[[str], None]) -> str:
    """The id of the experiment of that name, which is made if there is none.

    One that was deleted keeps its name, and nothing can be written to it: it is restored, which is
    said.
    """
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        return client.create_experiment(name)
    if experiment.lifecycle_stage != LifecycleStage.ACTIVE:
        client.restore_experiment(experiment.experiment_id)
        say(f"The experiment '{name}' was deleted in MLflow; it is restored, with its runs.")
    return experiment.experiment_id


def _refuse_no_database(uri: str) -> None:
    """Refuse a folder or another file at once, which MLflow would try to open for minutes."""
    file = Path(uri.removeprefix("sqlite:///").partition("?")[0])
    if not uri.startswith("sqlite:///") or not exists(file):
        return
    if os.path.isdir(file):
        raise FedbenchError(f"{file}: a folder stands where MLflow's database would; move it away")
    with file.open("rb") as stream:
        if stream.read(len(_SQLITE)) not in (b"", _SQLITE):
            raise FedbenchError(f"{file}: no database of MLflow (SQLite); move it away")


def _refuse_no_server(uri: str) -> None:
    """Refuse a server that is away within seconds; MLflow itself would try for minutes."""
    try:
        address = urlsplit(uri)
        if address.scheme not in ("http", "https"):
            return
        port = address.port or {"http": 80, "https": 443}[address.scheme]
        socket.create_connection((address.hostname or "", port), _PATIENCE).close()
    except ValueError as error:  # a port or a host that cannot be
        raise FedbenchError(f"tracking_uri = {quoted(uri)} is not allowed: {error}") from None
    except OSError as error:
        raise FedbenchError(
            f"tracking_uri = {uri!r}: no server answers there ({error}); once it runs, the same "
            "command copies the runs"
        ) from None


@event.listens_for(Engine, "connect")
def _wait_for_no_disk(connection: object, _: object) -> None:
    """SQLite does not wait for the disk after each of a run's six transactions.

    A killed process damages nothing so; after a power cut the copy may have to be made anew.
    """
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous = OFF")


mlflow.set_tracking_uri("")  # never the working folder's default store
