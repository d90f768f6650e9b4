"""How gradients drift apart over local steps: by hand, and as the probe `steps` writes it."""

import numpy as np
import pytest
import torch

from fedbench import Machine, RunSpec, run
from fedbench.engine.assemble import assemble
from fedbench.engine.rounds import open_round
from fedbench.methods.fedprox import FedProx
from fedbench.methods.mfl import MFL
from fedbench.probes.local_steps import aligned, drift, origin, trends
from tests.methods.one_weight import LINE, close, objects

CPU = Machine(device="cpu", workers=1)
# step 0: mean (3, 0), updates (3, 4) and (3, −4) before it; step 1 is client 7's alone
TRAILS = {
    2: (torch.tensor([[3.0, 4.0]]), torch.tensor([[3.0, 4.0]])),
    7: (torch.tensor([[3.0, -4.0], [0.0, 2.0]]), torch.tensor([[3.0, -4.0], [1.0, 0.0]])),
}


def test_the_measures_by_hand():
    first, second, alone = drift(TRAILS, torch.tensor([3.0, 0.0]))
    assert first == pytest.approx(
        {"client": 2, "step": 0, "cosine": 0.6, "projection": 3, "spread": 8, "bias": 4}
        | {"update_cosine": 0.6}
    )
    assert second == first | {"client": 7}
    assert alone == pytest.approx(
        {"client": 7, "step": 1, "cosine": 1, "projection": 2, "spread": 0, "bias": 13**0.5}
        | {"update_cosine": 1}
    )


def test_means_and_slopes_by_hand():
    found = trends(drift(TRAILS, torch.tensor([3.0, 0.0])))
    assert found["gradient_cosine"] == pytest.approx(2.2 / 3)
    assert found["gradient_cosine_slope"] == pytest.approx(0.4)  # from 0.6 to 1
    assert found["gradient_spread_slope"] == pytest.approx(-8)
    assert found["update_similarity_slope"] == pytest.approx(0.4)
    one = torch.tensor([[3.0, 4.0]])
    single = trends(drift({0: (one, one)}, torch.zeros(2)))
    assert np.isnan(single["gradient_bias_slope"])  # one step has no slope


def test_measures_are_of_double_precision():
    v = torch.randn(3, 1000) + 1e4
    cosine, projection = aligned(v)
    w = v.double()
    wanted = torch.nn.functional.cosine_similarity(w, w.mean(0, keepdim=True))
    assert torch.allclose(cosine, wanted, rtol=1e-12)
    assert torch.allclose(projection, wanted * w.norm(dim=1), rtol=1e-12)
    row = drift({i: (v[i : i + 1],) * 2 for i in range(3)}, torch.zeros(1000))[0]
    largest = max(float((a - b).norm()) for a in w for b in w)
    assert row["spread"] == pytest.approx(largest, rel=1e-12)


def watched(clients, *parts, **settings):
    settings = {"clients": len(clients), "steps": 2, "watch": ["steps"], **settings}
    return run(RunSpec(**LINE | settings), machine=CPU, parts=parts, **objects(clients))


def test_the_probe_by_hand():
    # gradient w − a. Client 0 (a = 4): −4, −3.6; client 1 (a = −2): 2, 1.8; means −1, −0.9
    result = watched([[4.0], [-2.0]])
    table = result.tables["steps"].set_index(["step", "client"])
    assert table["round"].eq(1).all()
    assert close(table["cosine"].to_numpy(), 1, -1, 1, -1)
    assert close(table["projection"].to_numpy(), 4, -2, 3.6, -1.8)
    assert close(table["spread"].to_numpy(), 6, 6, 5.4, 5.4)
    assert close(table["bias"].to_numpy(), 3, 3, 2.6, 2.8)  # ∇f(0) = −1
    row = result.history.iloc[0]
    assert row["gradient_cosine"] == pytest.approx(0)
    assert row["gradient_projection_slope"] == pytest.approx(-0.1)  # means 1 and 0.9
    assert row["update_similarity"] == pytest.approx(0)  # updates 0.76 and −0.38, cosines 1, −1
    assert close(table["update_cosine"].iloc[2:].to_numpy(), 1, -1)  # after a step 0.4 and −0.2
    assert table["update_cosine"].iloc[:2].isna().all()  # nothing is done before the first
    assert np.isnan(row["update_similarity_slope"])  # one point is no slope
    assert "momentum_cosine" not in row


def test_updates_that_turn_away_from_each_other():
    # both go up at first; from 0.5 on client 1 goes back: after three steps 1.5 and −0.25
    pulls = {0: [0.5, 1.0, 1.5], 1: [0.5, 0.125, -0.25]}
    trails = {i: (torch.ones(3, 1), torch.tensor(points)[:, None]) for i, points in pulls.items()}
    rows = drift(trails, torch.zeros(1))
    assert [row["update_cosine"] for row in rows if row["client"]] == pytest.approx([1, 1, -1])
    assert trends(rows)["update_similarity_slope"] == pytest.approx(-0.5)  # means 1, 1, 0


def test_equal_clients_have_equal_updates():
    row = watched([[4.0], [4.0]]).history.iloc[0]
    assert row["update_similarity"] == pytest.approx(1)


def test_uploaded_momentum_by_hand():
    # v = ½ v + g: client 0 −4, −5.6; client 1 2, 2.8 with its points 0.4 and −0.2; mean −1.4
    result = watched([[4.0], [-2.0]], MFL(0.5))
    sent = result.tables["steps"].query("step == -1")
    assert close(sent["momentum_cosine"].to_numpy(), 1, -1)
    assert close(sent["momentum_projection"].to_numpy(), 5.6, -2.8)
    assert sent["cosine"].isna().all()
    assert result.history["momentum_projection"].iloc[0] == pytest.approx(1.4)


def test_only_momentum_that_is_sent_counts():
    assert (watched([[4.0], [-2.0]], MFL(0.5, buffer="reset")).tables["steps"]["step"] >= 0).all()
    assert (watched([[4.0], [-2.0]], FedProx(1.0)).tables["steps"]["step"] >= 0).all()


def test_the_first_round_is_watched_and_rounds_between_are_not():
    result = watched([[4.0], [-2.0]], rounds=5, watch=[{"steps": {"every": 2}}])
    assert result.tables["steps"]["round"].unique().tolist() == [1, 2, 4]
    assert result.history["gradient_cosine"].notna().tolist() == [True, True, False, True, False]


@pytest.mark.parametrize(("weights", "wanted"), [("uniform", -1), ("samples", -2)])
def test_the_reference_is_the_gradient_of_the_runs_objective(weights, wanted):
    clients = [[4.0, 4.0], [-2.0]]
    spec = RunSpec(**LINE, clients=2, weights=weights)
    problem = assemble(spec, objects(clients), CPU, None)
    r = open_round(problem, problem.fed.start, 0)
    assert close(origin(problem, r, [0, 1]), wanted)
    assert close(origin(problem, r, [1]), 2)


def test_the_reference_may_be_the_cohort_alone():
    clients = [[4.0], [-2.0], [7.0]]
    one = {"participation": 0.34, "steps": 1}
    own = watched(clients, watch=[{"steps": {"reference": "cohort"}}], **one).tables["steps"]
    assert close(own["bias"].to_numpy(), 0)
    every = watched(clients, **one).tables["steps"]
    a = clients[int(every["client"].iloc[0])][0]
    assert close(every["bias"].to_numpy(), abs(a - 3))  # ∇f(0) = −3
