"""How many classes a client holds, by hand and from a run's folder."""

import pandas as pd

from fedbench.report.values import collected_frames
from fedbench.report.values.collected_frames import Collected, holdings

# client 0 holds one class, client 3 two, client 7 four
CLIENTS = pd.DataFrame(
    {
        "client": [0, 3, 3, 7, 7, 7, 7],
        "label": [5, 0, 1, 0, 1, 2, 3],
        "count": [9, 4, 1, 2, 2, 2, 1],
    }
)


def test_classes_are_counted_by_client():
    found = holdings(CLIENTS).set_index("client")
    assert found["samples"].to_dict() == {0: 9, 3: 5, 7: 7}
    assert found["classes"].to_dict() == {0: 1, 3: 2, 7: 4}
    assert found["few"].to_dict() == {0: 1, 3: 1, 7: 0}
    assert found["many"].to_dict() == {0: 0, 3: 0, 7: 1}


def test_a_runs_folder_has_them_without_a_probe(tmp_path):
    (tmp_path / "one").mkdir()
    CLIENTS.to_parquet(tmp_path / "one/clients.parquet")
    collected = Collected(collected_frames.read(tmp_path / "none"), tmp_path)
    assert collected.table("one", "holdings")["few"].mean() == 2 / 3
    assert collected.table("other", "holdings").empty
