"""Sources whose samples belong to users: LEAF's files, Hugging Face's folders, FedProx's points."""

import json

import numpy as np
import pytest

from fedbench import FedbenchError, Machine, RunSpec, run
from fedbench.data.sources.digits_and_points import Synthetic
from tests.few import load_data

CPU = Machine(device="cpu", workers=1)


def leaf(folder, name, train, test):
    """LEAF's files: of each user (samples, labels); each user in a file of its own."""
    for subset, users in (("train", train), ("test", test)):
        home = folder / "leaf" / name / subset
        home.mkdir(parents=True)
        for user, (x, y) in users.items():
            content = {"users": [user], "num_samples": [len(x)]}
            content["user_data"] = {user: {"x": x, "y": y}}
            (home / f"{user}.json").write_text(json.dumps(content))


def test_femnist_as_leaf_writes_it(tmp_path):
    dark, light = [0.0] * 784, [1.0] * 784
    train = {"f1": ([dark, light, dark], [0, 61, 3]), "f0": ([light], [5])}
    leaf(tmp_path, "femnist", train, {"f1": ([dark], [0]), "f9": ([light], [61])})
    data = load_data("leaf", {}, tmp_path)
    assert (data.shape, data.classes) == ((1, 28, 28), 62)
    assert data.y_train.tolist() == [5, 0, 61, 3]  # files in the order of their names
    assert (data.groups.tolist(), data.groups_test.tolist()) == ([0, 1, 1, 1], [1, 2])
    assert data.x_train.mean((1, 2)).tolist() == [1, 0, 1, 0]
    spec = RunSpec(dataset="leaf", partition="natural", clients=2, model="lenet5", rounds=1)
    assert run(spec, data_dir=tmp_path, machine=CPU).record["samples"] == [1, 3]


def test_shakespeare_s_letters_are_numbered_from_one_in_sorted_order(tmp_path):
    train = {"ROMEO": (["abba", "b ba"], ["b", "c"])}
    leaf(tmp_path, "shakespeare", train, {"JULIET": (["cab "], ["b"])})
    data = load_data("leaf", {"name": "shakespeare"}, tmp_path)
    assert data.x_train.tolist() == [[2, 3, 3, 2], [3, 1, 3, 2]]
    assert data.x_test.tolist() == [[4, 2, 3, 1]]
    assert (data.vocabulary, data.classes) == (5, 2)
    assert (data.y_train.tolist(), data.y_test.tolist()) == ([0, 1], [0])


def test_without_files_the_error_says_what_to_fetch(tmp_path):
    with pytest.raises(FedbenchError, match=r"preprocess\.sh .*-t sample"):
        load_data("leaf", {}, tmp_path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not a file of LEAF"),
        ('{"users": ["a"]}', "is not a file of LEAF"),
        ('{"users": ["a"], "user_data": {"a": {"x": [[1, 2]], "y": [0]}}}', "must be 784 numbers"),
        ('{"users": ["a"], "user_data": {"a": {"x": [[1]], "y": []}}}', "1 samples, 0 labels"),
        (
            '{"users": ["a", "b"], "user_data": {"a": {"x": [[1], [2]], "y": [0]}, '
            '"b": {"x": [[3]], "y": [1, 1]}}}',
            "user 'a' has 2 samples, 1 labels",
        ),
    ],
)
def test_a_damaged_file_is_named(tmp_path, content, said):
    for subset in ("train", "test"):
        (tmp_path / "leaf/femnist" / subset).mkdir(parents=True)
        (tmp_path / "leaf/femnist" / subset / "a.json").write_text(content)
    with pytest.raises(FedbenchError, match=said):
        load_data("leaf", {}, tmp_path)


def saved(folder, **columns):
    datasets = pytest.importorskip("datasets", reason="needs the extra huggingface")
    made = datasets.Dataset.from_dict(columns)
    datasets.DatasetDict({"train": made, "test": made.select(range(3))}).save_to_disk(folder / "hf")


def test_a_folder_of_hugging_face(tmp_path):
    pixels = np.arange(6 * 5 * 5, dtype=np.uint8).reshape(6, 5, 5)
    pil = pytest.importorskip("PIL.Image")
    images = [pil.fromarray(each) for each in pixels]
    saved(tmp_path, image=images, label=[3, 5, 5, 3, 3, 5], writer=list("bbaacc"))
    data = load_data("huggingface", {"path": "hf", "group": "writer"}, tmp_path)
    assert (data.x_train == pixels).all()
    assert data.x_train.dtype == np.uint8
    assert data.y_train.tolist() == [0, 1, 1, 0, 0, 1]
    assert (data.groups.tolist(), data.groups_test.tolist()) == ([1, 1, 0, 0, 2, 2], [1, 1, 0])


def test_images_of_a_palette_are_the_colours_that_one_sees(tmp_path):
    pil = pytest.importorskip("PIL.Image")
    red, blue = (np.full((5, 5, 3), colour, np.uint8) for colour in ((255, 0, 0), (0, 0, 255)))
    images = [
        pil.fromarray(each).convert("P", palette=pil.Palette.ADAPTIVE) for each in (red, blue)
    ]
    saved(tmp_path, image=images * 3, label=[0, 1] * 3)
    data = load_data("huggingface", {"path": "hf"}, tmp_path)
    assert (data.x_train[:2] == np.stack([red, blue])).all()


def test_lists_of_numbers_are_rows(tmp_path):
    saved(tmp_path, v=[[0.5, 1.0]] * 6, label=list("xyxyxy"))
    data = load_data("huggingface", {"path": "hf", "x": "v"}, tmp_path)
    assert (data.shape, data.classes, data.groups) == ((2,), 2, None)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"path": "no"}, "cannot be read .*`path` must name"),
        ({"path": "hf", "y": "kind"}, "'kind'"),
        ({"path": "."}, "read"),
    ],
)
def test_what_is_missing_is_named(tmp_path, params, said):
    saved(tmp_path, image=[[1.0, 2.0]] * 6, label=[0, 1] * 3)
    with pytest.raises(FedbenchError, match=said):
        load_data("huggingface", params, tmp_path)


def test_pictures_of_several_sizes_are_refused(tmp_path):
    pil = pytest.importorskip("PIL.Image")
    images = [pil.fromarray(np.zeros((5, 5 + n % 2), np.uint8)) for n in range(6)]
    saved(tmp_path, image=images, label=[0, 1] * 3)
    with pytest.raises(FedbenchError, match="with samples of one shape"):
        load_data("huggingface", {"path": "hf"}, tmp_path)


def synthetic(**params):
    return Synthetic(**params).load(None)


def test_synthetic_points_are_those_of_the_formula():
    """User 0 of three, written out once more."""
    rng = np.random.RandomState(7)
    n = rng.lognormal(4, 2, 3).astype(int) + 50
    u, B = rng.normal(0, 0.5, 3), rng.normal(0, 2.0, 3)
    v = np.array([[rng.normal(B[k], 1) for _ in range(60)] for k in range(3)])
    rng.normal(0, 1, (61, 10))
    Wb = rng.normal(u[0], 1, (61, 10))
    x = v[0] + rng.normal(size=(n[0], 60)) * np.array([j**-0.6 for j in range(1, 61)])
    data = synthetic(alpha=0.5, beta=2.0, users=3, seed=7)
    kept = int(0.9 * n[0])
    assert np.allclose(data.x_train[data.groups == 0], x[:kept], atol=1e-5)
    assert (data.y_train[data.groups == 0] == (x @ Wb[:60] + Wb[60]).argmax(1)[:kept]).all()
    assert (data.groups_test == 0).sum() == n[0] - kept


def test_sizes_are_known_before_the_points_and_follow_a_power_law():
    data, source = synthetic(), Synthetic()
    assert source.samples() == (len(data.y_train), len(data.y_test))
    assert source.largest_class() == np.bincount(data.y_test).max()
    sizes = np.bincount(data.groups) + np.bincount(data.groups_test)
    assert sizes.min() >= 50
    assert sizes.max() > 20 * np.median(sizes)


def test_one_model_labels_all_points_if_iid_and_none_does_at_one_one():
    """A linear model of a third of the users' points, tried on the others' points."""
    from sklearn.linear_model import LogisticRegression

    accuracy = {}
    for name, params in {"iid": {"iid": True}, "far": {}}.items():
        data = synthetic(**params)
        some = data.groups < 10
        fitted = LogisticRegression(max_iter=300).fit(data.x_train[some], data.y_train[some])
        accuracy[name] = fitted.score(data.x_train[~some], data.y_train[~some])
    assert accuracy["iid"] > 0.85 > 0.5 > accuracy["far"]


def photographs(home, **counts):
    """Grey squares in folders: counts['a/cat'] of them in a/cat, each as bright as its number."""
    from PIL import Image

    for place, count in counts.items():
        folder = home / place.replace("__", "/")
        folder.mkdir(parents=True)
        for k in range(count):
            Image.new("L", (6, 8), 10 * k).save(folder / f"{k}.png")


def test_a_folder_per_class(tmp_path):
    photographs(tmp_path / "pets", cat=5, dog=10)
    data = load_data("folder", {"path": "pets", "side": 4}, tmp_path)
    assert data.x_train.shape == (12, 4, 4, 3)
    assert np.bincount(data.y_train).tolist() == [4, 8]
    assert np.bincount(data.y_test).tolist() == [1, 2]
    assert max(x.max() for x in [*data.x_train, *data.x_test]) == 90
    assert data.groups is None


def test_a_folder_per_client_and_class_and_one_to_test_on(tmp_path):
    photographs(tmp_path, train__ann__cat=2, train__ann__dog=1, train__bob__dog=3, test__bob__cat=1)
    data = load_data("folder", {"path": ".", "by": "client", "side": 4}, tmp_path)
    assert data.groups.tolist() == [0, 0, 0, 1, 1, 1]
    assert data.y_train.tolist() == [0, 0, 1, 1, 1, 1]
    assert (data.groups_test.tolist(), data.y_test.tolist()) == ([1], [0])


def test_a_folder_without_images_is_named(tmp_path):
    photographs(tmp_path / "pets", cat=2)
    with pytest.raises(FedbenchError, match="no images as <client>/<class>/<image>"):
        load_data("folder", {"path": "pets", "by": "client"}, tmp_path)
    with pytest.raises(FedbenchError, match="only the label 'cat'"):
        load_data("folder", {"path": "pets"}, tmp_path)
