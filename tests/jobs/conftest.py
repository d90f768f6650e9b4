"""One finished project that all tests of the workflow share: a start of Snakemake takes seconds."""

import pytest

from tests.project import PAPER, make_project, snakemake

# Names that a shell, a URL and HTML would read as something else
RESULTS, REPORTS, DATA = "bob's results & co", "a $(touch hit)#1", "bob's data"
CONFIG = ("--config", "scale=paper", f"results={RESULTS}", f"reports={REPORTS}", f"data_dir={DATA}")
WITH_BUBBLES = PAPER + "  fig2: {title: Fig. 2, grid: main, where: {alpha: 1}, kind: bubbles}\n"


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A project of which everything was reproduced once; tests only look at it."""
    folder = make_project(tmp_path_factory.mktemp("o'brien & sons"), WITH_BUBBLES)
    (folder / DATA).mkdir()
    done = snakemake(folder, "--cores", "2", "reproduce_all", *CONFIG)
    (folder / "said.txt").write_text(done.stdout)
    return folder
