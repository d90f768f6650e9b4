"""How runs differ from the paper's, said once for many."""

from fedbench.report.values.differences import common, merged, rest

A = "model x for y; rounds 6 for 500; lr 0.3 for 0.1"
B = "model x for y; rounds 6 for 500; lr 0.6 for 0.2; batch 8 for 50"


def test_what_all_share_and_what_is_left() -> None:
    shared = common([A, B])
    assert shared == ("model x for y", "rounds 6 for 500")
    assert rest(B, shared) == "lr 0.6 for 0.2; batch 8 for 50"
    assert rest("; ".join(shared), shared) == ""


def test_a_cell_that_is_the_papers_own_shares_nothing() -> None:
    assert common([A, ""]) == common(["", ""]) == ()
    assert common([]) == ()


def test_changes_of_a_field_stand_together() -> None:
    assert merged([A, "", B, A]) == (
        "model x for y; rounds 6 for 500; lr 0.3 for 0.1 / 0.6 for 0.2; batch 8 for 50"
    )
    assert merged(["", ""]) == ""
