"""Bubbles: areas are counts, places are clients and classes, panels share a scale."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from fedbench.report.figures.save import write
from fedbench.report.kinds.bars import draw_partitions
from tests.data.partition_cases import FAST

COUNTS = np.array([[100, 0], [25, 50], [0, 4]])  # three clients, two classes


def panels_of(figure):
    """Of each panel {(client, class): area}, and its axes."""
    found = []
    for axes in figure.axes:
        areas = {}
        full = [drawn for drawn in axes.collections if len(drawn.get_offsets())]
        for drawn in full:  # none where no client has a sample; the legend's have no places
            places = map(tuple, drawn.get_offsets().astype(int).tolist())
            areas = dict(zip(places, drawn.get_sizes(), strict=True))
        found.append((areas, axes))
    return found


def key_of(figure):
    """The legend: {samples: area}."""
    legend = figure.axes[-1].get_legend()
    assert legend.get_title().get_text() == "samples"
    words = [int(text.get_text().replace(",", "")) for text in legend.get_texts()]
    return dict(zip(words, [h.get_sizes()[0] for h in legend.legend_handles], strict=True))


def test_worked_example_areas_are_proportional_to_counts():
    ((areas, axes),) = panels_of(draw_partitions([("DP(δ=0.3)", COUNTS)], "toy, 3 clients, seed 0"))
    one = areas[0, 0] / 100
    assert {at: area / one for at, area in areas.items()} == pytest.approx(
        {(0, 0): 100, (1, 0): 25, (1, 1): 50, (2, 1): 4}
    )
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("client", "class")
    assert axes.get_title() == "DP(δ=0.3)"
    assert axes.figure.get_suptitle() == "toy, 3 clients, seed 0"
    assert {0, 1, 2} <= set(axes.get_xticks()) <= {-1, 0, 1, 2, 3}  # whole clients
    assert {0, 1} <= set(axes.get_yticks()) <= {-1, 0, 1, 2}


def test_the_legend_is_to_scale():
    figure = draw_partitions([("", COUNTS)])
    (areas, _), *_ = panels_of(figure)
    assert {n: area / areas[0, 0] for n, area in key_of(figure).items()} == pytest.approx(
        {100: 1.0, 20: 0.2, 5: 0.05}
    )


@settings(FAST, max_examples=15)
@given(
    clients=st.lists(st.integers(1, 60), min_size=1, max_size=4),
    classes=st.integers(1, 30),
    most=st.sampled_from([1, 3, 40, 7000]),
    seed=st.integers(0, 99),
)
def test_all_panels_and_the_legend_share_one_scale(clients, classes, most, seed):
    rng = np.random.default_rng(seed)
    tables = [rng.integers(0, most // 4 + 1, (k, classes)) for k in clients]
    tables[0][0, 0] = most
    figure = draw_partitions([(str(k), table) for k, table in enumerate(tables)])
    one = panels_of(figure)[0][0][0, 0] / most
    for (areas, _), table in zip(panels_of(figure), tables, strict=True):
        assert set(areas) == set(zip(*map(tuple, np.nonzero(table)), strict=True))
        assert all(np.isclose(area, one * table[at]) for at, area in areas.items())
    key = key_of(figure)
    assert all(np.isclose(area, one * n) for n, area in key.items())
    assert most / 2.5 <= max(key) <= most  # of 1, 2, 5, 10, …


@pytest.mark.parametrize(("clients", "classes"), [(1, 2), (20, 10), (100, 100), (300, 200)])
def test_bubbles_fit_their_cells_and_panels_their_page(clients, classes):
    figure = draw_partitions([("", np.full((clients, classes), 7))] * 2)
    width, height = figure.get_size_inches()
    assert width < 8.5  # a page
    assert height < 8.5
    (areas, axes), (_, other) = panels_of(figure)
    box = axes.get_position()
    cell = (width * box.width / clients, height * box.height / classes)
    assert next(iter(areas.values())) == pytest.approx(1.2 * cell[0] * cell[1] * 72**2)
    assert box.x1 < other.get_position().x0
    assert other.get_position().x1 < 1


def test_the_first_clients_of_many():
    figure = draw_partitions([("", np.full((100, 10), 3))], first=30)
    ((areas, axes),) = panels_of(figure)
    assert {client for client, _ in areas} == set(range(30))
    assert axes.get_xlabel() == "client (first 30 of 100)"
    assert axes.get_xlim() == (-0.5, 29.5)
    assert draw_partitions([("", COUNTS)], first=5).axes[0].get_xlabel() == "client"


def test_it_can_be_read_in_grey():
    ((_, axes),) = panels_of(draw_partitions([("", COUNTS)]))
    red, green, blue, alpha = axes.collections[0].get_facecolor()[0]
    assert (red, green, blue) == to_rgb("#0173b2")
    assert 1 - alpha * (1 - (0.299 * red + 0.587 * green + 0.114 * blue)) < 0.6  # on white


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_the_same_picture_has_the_same_bytes(tmp_path, ending):
    files = [tmp_path / folder / f"split.{ending}" for folder in "ab"]
    for file in files:
        _, lost = write(lambda: draw_partitions([("DL(α=1)", COUNTS)]), file)
        assert lost == ""
    assert files[0].read_bytes() == files[1].read_bytes()
    assert len(files[0].read_bytes()) > 2000


def test_another_ending_is_refused_before_anything_is_drawn(refuses, tmp_path):
    def never():
        raise AssertionError

    with refuses(r"x\.jpg: a figure is written as one of \.svg, \.png"):
        write(never, tmp_path / "x.jpg")
    assert not list(tmp_path.iterdir())
