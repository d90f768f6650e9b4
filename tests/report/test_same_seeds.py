"""Methods with other numbers of seeds, from cells written by hand."""

from fedbench.paper.printed_numbers import Place
from fedbench.paper.tables_and_figures import Table
from fedbench.report.tables.cells import Run, Status, TableCell, mark_best, with_same_seeds

TABLE = Table(title="T", grid="g", rows=("alpha",), columns=("method",), digits=1)


def cell(method: str, *values: float, setting: str = "alpha=1", control: bool = False) -> TableCell:
    """A cell with one run per value, whose seeds are 0, 1, …."""
    runs = (Run(f"{setting}-{method}-{n}", n, Status.FINISHED, x) for n, x in enumerate(values))
    place = Place("t", "MNIST", setting, method, "accuracy")
    return TableCell(place, {"method": method}, control, None, tuple(runs), ())


def means(*cells: TableCell) -> dict[str, float]:
    kept = with_same_seeds(cells)
    return {each.place.method: each.measured.mean for each in kept if each.measured}


def test_further_seeds_of_a_minority_are_left_aside() -> None:
    assert means(cell("A", 1, 3, 8), cell("B", 2, 4), cell("C", 5, 7)) == {"A": 2, "B": 3, "C": 6}


def test_a_method_that_lacks_a_seed_of_most_is_left_out() -> None:
    assert means(cell("A", 1, 3), cell("B", 2, 4), cell("C", 9)) == {"A": 2, "B": 3}


def test_of_two_methods_only_shared_seeds_count() -> None:
    assert means(cell("A", 1, 3, 8), cell("B", 2, 4)) == {"A": 2, "B": 3}


def test_each_setting_has_seeds_of_its_own() -> None:
    kept = with_same_seeds(
        [
            cell("A", 1, 3),
            cell("B", 2, 4),
            cell("A", 5, setting="alpha=2"),
            cell("B", 6, setting="alpha=2"),
        ]
    )
    assert [len(each.runs) for each in kept] == [2, 2, 1, 1]


def best(*cells: TableCell) -> list[str]:
    return [each.place.method for each in mark_best([*cells], TABLE) if each.best]


def test_none_is_best_where_methods_are_planned_with_other_seeds() -> None:
    assert best(cell("A", 1, 3), cell("B", 2, 4)) == ["B"]
    assert best(cell("A", 1, 3), cell("B", 2, 4, 9)) == []
    assert best(cell("A", 1, 3), cell("B", 2, 4), cell("C", 9, control=True)) == ["B"]
