"""Fixtures that every folder of tests shares."""

import contextlib
import os

import pytest
import torch
from typer.testing import CliRunner

from fedbench.base.errors import FedbenchError
from fedbench.base.plugins import VARIABLE
from tests.project import ROOT

torch.set_num_threads(1)  # on small models threads cost more than they give


@pytest.hookimpl(tryfirst=True)  # before the processes are told their groups
def pytest_collection_modifyitems(items):
    """Tests of a file run in one process, and so do those that share what is dear to make.

    That is the finished project, and the plans of all papers. They take the longest and come first,
    so that no process is left without work.
    """
    of_project = {item.path for item in items if "built" in item.fixturenames}
    of_papers = {item.path for item in items if item.path.parent.name == "paper"}
    items.sort(key=lambda item: (item.path not in of_project, item.path not in of_papers))
    shared = dict.fromkeys(of_project, "finished project") | dict.fromkeys(of_papers, "papers")
    for item in items:
        item.add_marker(pytest.mark.xdist_group(shared.get(item.path, str(item.path))))


@pytest.fixture(autouse=True)
def plugin_variable(monkeypatch):
    """FEDBENCH_PLUGINS is after each test what it was before; `fedbench run` may add to it."""
    monkeypatch.setenv(VARIABLE, os.environ.get(VARIABLE, ""))


@pytest.fixture
def together(monkeypatch):
    """`together(3)`: from now on three clients train side by side, in any precision; 1 is alone."""
    from fedbench.core.stacked import StackedNet
    from fedbench.engine import workers

    def force(clients):
        monkeypatch.setattr(workers, "stacked_net", lambda task: StackedNet(task.net))
        monkeypatch.setattr(workers, "at_once", lambda task, batch: clients)

    return force


@pytest.fixture(scope="session")
def cpu():
    """The machine of a run whose speed and device do not matter."""
    from fedbench import Machine

    return Machine(device="cpu", workers=1)


@pytest.fixture(scope="session")
def refuses():
    """`with refuses("words"):` the code inside must end in one printable sentence with the words.

    The words are a regular expression, searched for as `pytest.raises` does.
    """

    @contextlib.contextmanager
    def refusing(words=None):
        with pytest.raises(FedbenchError, match=words) as caught:
            yield caught
        sentence = str(caught.value)
        assert sentence.isprintable(), f"not one line of plain text: {sentence!r}"

    return refusing


@pytest.fixture
def cli(monkeypatch):
    """`cli("plan", "--json")`: a command as a user types it in the repository, in this process."""
    from fedbench.__main__ import app

    monkeypatch.chdir(ROOT)
    return lambda *words: CliRunner().invoke(app, [str(w) for w in words], catch_exceptions=False)
