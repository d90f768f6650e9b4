"""`fedbench claims`, as a user reads it."""

import json

import pytest

from tests.project import PAPER, make_project

CLAIMS = """
claims:
  better:
    {text: FedProx is ahead., table: table1, kind: greater, winner: FedProx, loser: FedAvg}
  worse:
    {text: FedAvg is ahead., table: table1, kind: greater, winner: FedAvg, loser: FedProx}
"""


@pytest.fixture
def said(cli, tmp_path):
    """What the command prints of a paper that prints 90 % for FedAvg and 91 % for FedProx."""
    workflow = make_project(tmp_path, PAPER + CLAIMS) / "workflow"
    common = ("claims", "--scale", "paper", "--workflow", workflow, "--results", tmp_path)
    return lambda *words: cli(*common, *words)


def test_each_claim_has_its_text_and_both_verdicts_below_its_key(said):
    lines = [line.strip() for line in said("--full").output.splitlines()]
    counts = ("2 claims", "1 hold, 1 fail", "2 not tested")
    assert [count for count in counts if count not in lines[0]] == []
    assert lines[2:5] == ["tiny", "better", "FedProx is ahead."]
    facts = [("printed", "holds", "+1.00 points"), ("here", "not tested", "4 of its 4 runs")]
    for line, words in zip(lines[5:7], facts, strict=True):
        assert [word for word in words if word not in line] == []
    assert any("fails" in line and "−1.00 points" in line for line in lines)


def test_a_claim_is_one_line_unless_all_is_asked_for(said):
    lines = [line.split() for line in said().output.splitlines()]
    assert lines[3][:3] == ["better", "not", "tested"]
    assert " ".join(lines[3][3:]) == "FedProx is ahead."
    assert len(lines) == 5


def test_programs_read_verdicts_in_fields_of_their_own(said):
    better, worse = json.loads(said("--json").output)
    assert (better["printed_verdict"], worse["printed_verdict"]) == ("holds", "fails")
    assert (better["printed"], better["mark"]) == ("+1.00 points", "not-tested")


@pytest.mark.parametrize(
    ("only", "keys"),
    [
        ("printed-fails", ["worse"]),
        ("printed-holds,printed-fails", ["better", "worse"]),
        ("here-not-tested", ["better", "worse"]),
        ("here-supported", []),
    ],
)
def test_claims_are_chosen_by_their_verdicts(said, only, keys):
    rows = json.loads(said("--only", only, "--json").output)
    assert [row["claim"] for row in rows] == keys


def test_an_unknown_verdict_is_one_sentence(said):
    done = said("--only", "here-support")
    assert done.exit_code == 2
    assert done.output == "error: no verdict 'here-support'; did you mean 'here-supported'?\n"


def test_the_cheapest_claims_come_first_with_the_hours_of_their_missing_runs(said):
    lines = [line for line in said("--cost").output.splitlines() if "tiny." in line]
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines]
    assert [cell[0] for cell in cells] == ["tiny.better", "tiny.worse"]
    assert {cell[1] for cell in cells} == {"4"}  # runs of two methods with two seeds
    assert all(cell[2] for cell in cells)
    rows = json.loads(said("--cost", "--json").output)
    assert [[row["claim"], row["runs missing"]] for row in rows] == [cell[:2] for cell in cells]
