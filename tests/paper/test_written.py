"""What a paper did stands in its file: a changed default of the code cannot change a paper."""

from collections.abc import Iterator

import pytest

from fedbench.base import registry
from fedbench.paper.grid_points import points, resolve
from fedbench.spec import RunSpec
from tests.paper import published

PAPERS = ("asd", "fedadc", "feddpc", "fedgkd", "rmfl")

# Parameters that may be left to the code, and why: (kind, name, parameter), * for any.
SIZE = "the network's name says it; other values make it smaller for the demonstration"
ACCURACY = "how exactly a number is computed, which no paper says"
LEFT = {
    **{("model", "*", name): SIZE for name in ("width", "depth", "blocks")},
    **{("model", "vitsmall", name): SIZE for name in ("patch", "dim", "heads", "layers")},
    **{
        ("model", "distilbert", name): SIZE
        for name in ("dim", "heads", "hidden", "layers", "positions")
    },
    ("model", "*", "side"): "images keep their size; the demonstration's are resized",
    ("model", "rn20", "groups"): "of group normalisation; RMFL's has batch normalisation",
    ("model", "rn50", "per_group"): "of group normalisation; MOON's and FedGKD+'s has batch norm",
    ("dataset", "*", "seed"): "which half of AG News, and where the toy's points lie",
    ("dataset", "*", "tokenizer"): "the file's own, if it is there; a substitute is reported",
    ("dataset", "*", "vocabulary"): "of the substitute for the tokenizer",
    ("method", "fedsam", "rho"): "each run has it from its search",
    ("method", "fedadc", "beta_g"): "equal to β unless given",
    ("method", "fedadc", "beta_l"): "equal to β unless given",
    ("method", "feddpc", "eta_g"): "the rate is constant, so both are the same",
    ("method", "fedgkd", "buffer_from"): "a buffer of one model has no order; longer ones say it",
    ("method", "fedgkd", "T"): "of the divergence; the mean squared error has no temperature",
    ("method", "fedgkd", "scale_t"): "of the divergence; the mean squared error has none",
    ("probe", "regions", "grid"): ACCURACY,
    **{
        ("probe", "spectrum", name): ACCURACY
        for name in ("iterations", "points", "probes", "steps", "tol")
    },
}
# Fields of a run that every paper writes; the others are neutral unless a paper names them.
ALWAYS = {
    *("dataset", "model", "partition", "parts", "clients", "participation", "sampler", "weights"),
    *("rounds", "batch", "lr", "lr_decay", "optimizer", "momentum", "weight_decay", "normalise"),
}
SEARCH = {"grid", "by", "on", "share", "seeds"}


def unwritten(run: RunSpec) -> Iterator[tuple[str, str, str]]:
    """Parameters of what the run uses that its settings do not name."""
    chosen = [(kind, getattr(run, kind)) for kind in ("dataset", "model", "partition", "sampler")]
    chosen += [("method", part) for part in run.parts] + [("probe", p) for p in run.watch]
    for kind, choice in chosen:
        for field in registry.find(kind, choice.name).fields:
            if field not in choice.params:
                yield kind, choice.name, field


def may_be_left(kind: str, name: str, field: str) -> bool:
    return (kind, name, field) in LEFT or (kind, "*", field) in LEFT


@pytest.mark.parametrize("paper", PAPERS)
def test_every_parameter_of_what_a_paper_uses_is_written_in_its_file(paper):
    used = {each for cell in published.cells(paper) for each in unwritten(cell.run)}
    assert sorted(each for each in used if not may_be_left(*each)) == []


def test_what_may_be_left_out_is_left_out_somewhere():
    used = {each for cell in published.plan().cells for each in unwritten(cell.run)}
    names = used | {(kind, "*", field) for kind, _, field in used}
    assert set(LEFT) - names == set()


@pytest.mark.parametrize("name", PAPERS)
def test_settings_and_searches_of_every_run_are_written(name):
    paper = published.papers()[name]
    for grid in paper.grids.values():
        for point in points(grid):
            settings = resolve(paper, grid, point)
            assert set(settings) >= ALWAYS, point
            assert {"epochs", "steps"} & {k for k, v in settings.items() if v}, point
            assert "augment" in settings or settings["dataset"] not in ("cifar10", "mnist"), point
            assert not settings.get("tune") or set(settings["tune"]) >= SEARCH, point
            if settings["optimizer"] == "adam":
                assert "eps" in settings, point


def test_a_fedgkd_with_a_divergence_says_its_temperature():
    cells = (cell for paper in PAPERS for cell in published.cells(paper))
    used = [part.params for cell in cells for part in cell.run.parts if part.name == "fedgkd"]
    with_divergence = [params for params in used if params["regulariser"] == "kl"]
    assert with_divergence
    for params in with_divergence:
        assert {"T", "scale_t"} <= set(params)
        assert params["M"] == 1 or "buffer_from" in params
