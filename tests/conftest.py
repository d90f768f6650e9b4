"""Fixtures that every folder of tests shares."""

import contextlib
import os

import pytest
from typer.testing import CliRunner

from fedbench.base.errors import FedbenchError
from fedbench.base.plugins import VARIABLE
from tests.project import ROOT

# What is dear to make is made once: the finished project, and the plans of all papers
SHARED = ("tests/jobs/test_workflow", "tests/paper/")


def pytest_collection_modifyitems(items):
    """Tests that share something take the longest and come first, so that no process idles."""
    items.sort(key=lambda item: not item.nodeid.startswith(SHARED))


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config, log):
    """Tests of a file run in one process, and so do those of all files that share something.

    The option `--dist loadgroup` is for that, but pytest-xdist 3.8 cannot give pytest 9.2 a group.
    """
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return next((start for start in SHARED if nodeid.startswith(start)), None) or (
                super()._split_scope(nodeid)
            )

    return Together(config, log)


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """On small models threads cost more than they give."""
    import torch  # here: the process that only deals out the tests needs none

    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def same_draws():
    """What a test draws without naming a seed is the same each time, in any order of tests."""
    import torch

    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def plugin_variable(monkeypatch):
    """FEDBENCH_PLUGINS is after each test what it was before; `fedbench run` may add to it."""
    monkeypatch.setenv(VARIABLE, os.environ.get(VARIABLE, ""))


@pytest.fixture
def together(monkeypatch):
    """`together(3)`: from now on three clients train side by side, in any precision; 1 is alone."""
    from fedbench.core.stacked_network import StackedNet
    from fedbench.engine import workers

    def force(clients):
        monkeypatch.setattr(workers, "stacked_net", lambda task, batch: StackedNet(task.net))
        monkeypatch.setattr(workers, "at_once", lambda task, batch, cohort: clients)

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
