"""Who needs an extra that is not installed says so, and how to install it, before any training."""

import pytest

from fedbench import Machine, RunSpec, run
from fedbench.base import registry
from fedbench.base.errors import FedbenchError
from fedbench.base.plugins import KINDS
from fedbench.plan.plan import make_plan
from tests.project import ROOT

CPU = Machine(device="cpu", workers=1)
IN_USE = {
    "text": ("tokenizers", {"dataset": "topics", "model": {"distilbert": {"weights": "random"}}}),
    "vit": ("timm", {"model": {"tinyvit": {"side": 32}}}),
    "curvature": ("curvlinops", {"watch": ["spectrum"]}),
}


@pytest.fixture
def without(monkeypatch):
    """Makes a package look as if it were not installed."""

    def forget(package):
        real = registry.find_spec
        monkeypatch.setattr(registry, "find_spec", lambda n: None if n == package else real(n))

    return forget


@pytest.mark.parametrize("extra", IN_USE)
def test_a_run_names_the_extra_before_it_trains(extra, without):
    package, settings = IN_USE[extra]
    without(package)
    seen = []
    with pytest.raises(FedbenchError, match=rf"needs {package}, .*'\.\[{extra}\]'"):
        run(RunSpec(clients=2, rounds=1, **settings), machine=CPU, watch=lambda *_: seen.append(1))
    assert not seen


def test_a_plan_names_the_extra_and_who_needs_it(without):
    without("curvlinops")
    make_plan(ROOT / "workflow", "demo", ("rmfl",))  # needs none
    with pytest.raises(FedbenchError, match=r"^probe 'spectrum' needs curvlinops"):
        make_plan(ROOT / "workflow", "demo", ("asd",))


def test_every_extra_is_declared_by_a_class():
    declared = {
        entry.constants["EXTRA"]
        for kind in KINDS
        for entry in registry.entries(kind).values()
        if "EXTRA" in entry.constants
    }
    assert declared == registry.PACKAGES.keys()
