"""Data that say whose each sample is: clients, held-out data and test sets by group."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedbench import Dataset, FedbenchError, Machine, RunSpec, run
from fedbench.data.partition import draw_partition, hold_out, own_test_rows
from fedbench.data.partitions.iid_and_shards import Natural
from tests.few import load_data

CPU = Machine(device="cpu", workers=1)
GROUPS = np.array([2, 0, 2, 1, 0, 2, 3, 3, 2, 0, 2])  # 3, 1, 5 and 2 samples


def rng():
    return np.random.default_rng(0)


def split(clients, groups=GROUPS, **params):
    return Natural(**params)(np.zeros(len(groups), int), clients, rng(), groups=groups)


def of_users(users=4, each=10, classes=2):
    """`users` people with `each` training and five test samples."""
    n, m = users * each, users * 5
    x = np.random.default_rng(1).normal(size=(n + m, 3)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int64)
    return Dataset(
        "people", x[:n], y[:n], x[n:], y[n:], classes=classes,
        groups=np.arange(n) % users, groups_test=np.arange(m) % users,
    )  # fmt: skip


def test_every_group_is_a_client_in_the_order_of_their_numbers():
    assert [part.tolist() for part in split(4)] == [[1, 4, 9], [3], [0, 2, 5, 8, 10], [6, 7]]


def test_small_groups_are_joined_or_dropped():
    joined = split(3, least=3)
    assert [len(part) for part in joined] == [3, 5, 3]
    assert sorted(joined[2].tolist()) == [3, 6, 7]
    assert [len(part) for part in split(2, least=3, small="drop")] == [3, 5]


def test_of_more_groups_some_are_drawn_and_more_clients_are_refused():
    some = split(2)
    assert len(some) == 2
    assert all(len(set(GROUPS[part])) == 1 for part in some)
    with pytest.raises(FedbenchError, match="of 4 groups 2 clients with at least 3"):
        split(5, least=3, small="drop")


@given(st.lists(st.integers(0, 6), min_size=1, max_size=60), st.integers(1, 10))
def test_no_sample_twice_no_client_too_small_no_group_torn(groups, least):
    rule, groups = Natural(least), np.array(groups)
    labels = np.zeros(len(groups), int)
    try:
        parts = rule(labels, 1, rng(), groups=groups)
    except FedbenchError:
        assert len(groups) < least or np.bincount(groups).max() < least
        return
    (part,) = parts
    assert len(part) >= least
    rest = np.setdiff1d(np.arange(len(groups)), part)
    assert not set(groups[part]) & set(groups[rest])


def test_data_without_groups_are_refused():
    with pytest.raises(FedbenchError, match="say whose each sample is"):
        run(RunSpec(partition="natural", rounds=1), machine=CPU)


def test_the_same_share_of_every_group_is_held_out_and_the_split_is_not_scrambled():
    data = of_users()
    train, held_out = hold_out(data, 0.2, seed=0)
    assert np.bincount(data.groups[held_out]).tolist() == [2, 2, 2, 2]
    for client, rows in enumerate(draw_partition(Natural(), data, train, 4, 0)):
        assert (data.groups[rows] == client).all()
        assert len(rows) == 8


def test_groups_are_part_of_what_tells_versions_of_the_data_apart():
    data = of_users()
    other = replace(data, groups=data.groups[::-1].copy())
    without = replace(data, groups=None, groups_test=None)
    assert len({data.checksum, other.checksum, without.checksum}) == 3
    assert "of 4 groups" in repr(data)


def test_own_test_rows_are_those_of_the_groups_and_none_where_clients_share_one():
    data = of_users()
    parts = [np.flatnonzero(data.groups == g) for g in (0, 1)]
    both = np.flatnonzero(data.groups >= 2)
    own = own_test_rows(data, [*parts, both])
    assert [sorted(set(data.groups_test[rows])) for rows in own] == [[0], [1], [2, 3]]
    assert own_test_rows(data, np.array_split(np.arange(40), 4)) is None
    assert own_test_rows(replace(data, groups_test=None), [*parts, both]) is None


def test_a_client_is_scored_on_its_own_test_samples():
    data = of_users()
    spec = RunSpec(
        partition="natural", clients=4, model="logistic", rounds=2, watch=["perclient", "personal"]
    )
    result = run(spec, data=data, machine=CPU)
    W, b = result.weights[:6].view(2, 3), result.weights[6:]
    right = ((torch.as_tensor(data.x_test) @ W.T + b).argmax(1).numpy() == data.y_test).astype(
        float
    )
    each = [right[data.groups_test == g].mean() for g in range(4)]
    assert result.tables["perclient"]["accuracy"].tolist() == pytest.approx(each)
    assert result.history["client_accuracy"].iloc[-1] == pytest.approx(np.mean(each))
    assert "personal_accuracy" in result.history


@pytest.mark.parametrize(
    "wrong", [np.zeros(3, int), np.full(40, -1), np.zeros(40), list(range(40))], ids=str
)
def test_groups_that_are_no_numbers_per_sample_are_refused(wrong):
    with pytest.raises(FedbenchError, match="groups must be 40 whole numbers ≥ 0"):
        replace(of_users(), groups=wrong)


def table(folder, rows=40):
    lines = ["age,hospital,ill,dose"]
    lines += [
        f"{30 + k % 7},{'ABCD'[k % 4]},{'yes' if k % 3 else 'no'},{k / 9}" for k in range(rows)
    ]
    (folder / "patients.csv").write_text("\n".join(lines) + "\n")
    return {"path": str(folder / "patients.csv"), "label": "ill", "group": "hospital"}


def test_a_column_of_a_table_says_whose_rows_they_are_and_is_no_feature(tmp_path):
    data = load_data("file", table(tmp_path), tmp_path)
    assert data.columns == ("age", "dose")
    assert np.bincount(data.groups).tolist() == [8, 8, 8, 8]
    assert np.bincount(data.groups_test).tolist() == [2, 2, 2, 2]
    assert data.origin["test set"].startswith("0.2 of every group")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"group": "clinic"}, "no column 'clinic' for the groups"),
        ({"group": "ill"}, "'ill' cannot hold labels and groups"),
    ],
)
def test_a_wrong_column_of_groups_is_named(tmp_path, change, said):
    params = table(tmp_path) | change
    with pytest.raises(FedbenchError, match=said):
        load_data("file", params, tmp_path)


def test_a_row_without_a_group_is_named_with_its_line(tmp_path):
    params = table(tmp_path)
    file = tmp_path / "patients.csv"
    lines = file.read_text().splitlines()
    lines[5] = lines[5].replace(",A,", ",,")
    file.write_text("\n".join(lines))
    with pytest.raises(FedbenchError, match="line 6, column 'hospital' has the group ''"):
        load_data("file", params, tmp_path)


def test_arrays_of_an_npz_file_say_so_too(tmp_path):
    x, y = np.random.default_rng(0).normal(size=(20, 2)).astype("float32"), np.arange(20) % 2
    owners = np.array(list("abcd"))[np.arange(20) % 4]
    np.savez(tmp_path / "a.npz", x=x, y=y, groups=owners)
    assert np.bincount(load_data("file", {"path": "a.npz"}, tmp_path).groups).tolist() == [4] * 4
    split = {"x_train": x, "y_train": y, "x_test": x, "y_test": y, "groups_train": owners}
    np.savez(tmp_path / "b.npz", **split, groups_test=np.array(["b", "z"] * 10))
    data = load_data("file", {"path": "b.npz"}, tmp_path)
    assert (data.groups.max(), data.groups_test.max()) == (3, 4)
    np.savez(
        tmp_path / "c.npz", **{k: v for k, v in split.items() if k != "groups_train"}, groups=y
    )
    with pytest.raises(FedbenchError, match="needs groups_train"):
        load_data("file", {"path": "c.npz"}, tmp_path)


def test_the_command_data_counts_them(tmp_path, cli):
    params = [f"--set={key}={value}" for key, value in table(tmp_path).items()]
    assert json.loads(cli("data", "file", *params).output)["groups"] == {
        "number": 4, "least": 8, "most": 8,
    }  # fmt: skip


def test_a_table_of_its_own_to_test_on(tmp_path):
    params = table(tmp_path)
    text = (tmp_path / "patients.csv").read_text().splitlines()
    (tmp_path / "later.csv").write_text("\n".join([text[0], *text[10:13]]) + "\n")
    data = load_data("file", params | {"test_path": str(tmp_path / "later.csv")}, tmp_path)
    assert (len(data.y_train), len(data.y_test)) == (40, 3)
    assert data.groups_test.tolist() == [1, 2, 3]
    assert "test set" not in data.origin
    (tmp_path / "later.csv").write_text("age,hospital,ill\n1,A,no\n2,B,yes\n")
    with pytest.raises(FedbenchError, match="same columns"):
        load_data("file", params | {"test_path": "later.csv"}, tmp_path)


def test_a_table_of_numbers_to_predict(tmp_path):
    params = table(tmp_path) | {"label": "dose", "regression": True, "group": ""}
    file = tmp_path / "patients.csv"
    file.write_text(file.read_text().replace("yes", "1").replace("no", "0"))
    lines = file.read_text().splitlines()
    file.write_text(
        "\n".join(line.replace(f",{'ABCD'[k % 4 - 1]},", ",1,") for k, line in enumerate(lines))
    )
    data = load_data("file", params, tmp_path)
    assert (data.classes, data.inputs.outputs) == (0, 1)
    assert data.y_train.dtype == np.float32
    spec = RunSpec(dataset={"file": params}, model="logistic", rounds=1, clients=2)
    assert run(spec, data_dir=tmp_path, machine=CPU).status == "finished"
