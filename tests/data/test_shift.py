"""What makes clients' data differ beyond which samples they hold, checked by hand."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from fedbench import Dataset, FedbenchError, Machine, RunSpec, run
from fedbench.base import registry
from fedbench.core.flat_network import Model
from fedbench.data.shift import Place, Shift, shifted
from fedbench.data.shifts.noise_and_rotation import Colour, LabelNoise, Noise, Rotation
from fedbench.engine.assemble import assemble

CPU = Machine(device="cpu", workers=1)


def place(client=0, K=5, seed=0):
    return Place(client, K, np.random.default_rng(seed))


def pictures(colour=False):
    """Forty training and twenty test images of 4 × 4 pixels, four classes in turn."""
    shape = (4, 4, 3) if colour else (4, 4)
    x = np.random.default_rng(0).integers(0, 256, (60, *shape), dtype=np.uint8)
    y = np.arange(60) % 4
    return Dataset("pictures", x[:40], y[:40], x[40:], y[40:], classes=4)


ROWS = np.split(np.arange(40), 5)
REALS, CLASSES = np.zeros((4, 3), np.float32), np.array([0, 1, 0, 1])


def test_noise_grows_from_none_at_the_first_client_to_the_level_at_the_last():
    x = np.zeros((2000, 4), np.float32)
    deviations = [Noise(0.8).features(x, place(i)).std() for i in range(5)]
    assert deviations == pytest.approx([0, 0.2, 0.4, 0.6, 0.8], rel=0.02, abs=1e-9)
    grey = np.full((2000, 4, 4), 128, np.uint8)
    noisy = Noise(0.1).features(grey, place(4))
    assert noisy.dtype == np.uint8
    assert noisy.std() == pytest.approx(25.5, rel=0.02)  # 0.1 of 255
    table = Noise(2.0).features(np.full((2000, 4), 128, np.uint8), place(4))
    assert table.std() == pytest.approx(2, rel=0.05)  # of its own numbers


def test_noise_that_whole_numbers_would_round_away_is_refused(refuses):
    x, y = np.eye(8, dtype=np.uint8), np.arange(8) % 2
    whole = Dataset("bits", x, y, x, y, classes=2)
    Noise(1.0).require(whole)
    with refuses("level = 0.1 is rounded away in the whole numbers of 'bits'"):
        Noise(0.1).require(whole)


def test_a_sample_of_several_clients_cannot_be_shifted_for_each(refuses):
    rows = [np.arange(3), np.arange(2, 5)]
    with refuses("shift: clients 0 and 1 hold the same sample, .*: use another partition"):
        shifted(pictures(), rows, [Rotation()], 0)


def test_a_client_without_test_samples_is_left_alone():
    rows = [np.array([i]) for i in range(40)]  # more clients than test samples
    scaled = shifted(pictures(), rows, [Largest()], 0)
    assert min(map(len, scaled.own)) == 0
    assert scaled.data.x_train.max() == 1


@dataclass(frozen=True)
class Largest(Shift):
    """Brightness by the largest value, which no samples have not."""

    def features(self, x, place):
        return x // x.max()


def test_images_are_turned_by_quarters_client_after_client():
    x = np.array([[[1, 2], [3, 4]]], np.uint8)
    turned = [Rotation().features(x, place(i))[0].tolist() for i in range(5)]
    assert turned[:2] == [[[1, 2], [3, 4]], [[2, 4], [1, 3]]]
    assert turned[2:] == [[[4, 3], [2, 1]], [[3, 1], [4, 2]], turned[0]]
    assert Rotation(2).features(x, place(1))[0].tolist() == [[4, 3], [2, 1]]


def test_a_camera_has_one_gain_per_channel():
    x = np.full((3, 2, 2, 3), 100, np.uint8)
    seen = Colour(0.5).features(x, place(seed=3))
    gains = np.random.default_rng(3).uniform(0.5, 1.5, 3)
    assert (seen == np.rint(100 * gains)).all()
    assert Colour(1.0).features(np.full((1, 2, 2), 250, np.uint8), place(seed=3)).max() <= 255


def test_wrong_labels_are_others_and_as_many_as_the_client_s_share():
    y = np.arange(9000) % 3
    noisy = LabelNoise(0.3, 0.3).labels(y, 3, place())
    assert (noisy != y).mean() == pytest.approx(0.3, abs=0.02)
    assert set(noisy) == {0, 1, 2}
    moved = (noisy - y)[noisy != y] % 3
    assert (moved == 1).mean() == pytest.approx(0.5, abs=0.03)
    shares = [(LabelNoise(0, 0.6).labels(y, 3, place(seed=s)) != y).mean() for s in range(40)]
    assert 0.2 < np.mean(shares) < 0.4
    assert max(shares) < 0.62


def test_each_client_s_samples_are_shifted_and_all_others_stay():
    data = pictures()
    some = ROWS[:3]
    seen = shifted(data, some, (Rotation(2),), seed=0)
    assert (seen.data.x_train[ROWS[1]] == data.x_train[ROWS[1]][:, ::-1, ::-1]).all()
    assert (seen.data.x_train[ROWS[0]] == data.x_train[ROWS[0]]).all()
    assert (seen.data.x_train[24:] == data.x_train[24:]).all()
    assert (seen.data.x_test == data.x_test).all()  # the run's accuracy is that on plain samples
    assert sorted(np.concatenate(seen.own)) == list(range(20))
    assert (seen.x_test[seen.own[1]] == data.x_test[seen.own[1]][:, ::-1, ::-1]).all()
    assert (seen.x_test[seen.own[2]] == data.x_test[seen.own[2]]).all()


def test_a_client_s_label_counts_are_those_of_the_labels_it_sees():
    spec = RunSpec(clients=5, shift=[{"labelnoise": {"least": 0.5, "most": 0.5}}], model="mlp")
    made = assemble(spec, {"data": pictures(), "partition": ROWS}, CPU, None)
    assert made.label_counts.sum(1).tolist() == [8] * 5
    assert (made.label_counts != 2).any()  # two of each class before
    assert made.data.checksum == pictures().checksum
    assert made.own_test is not None


def test_draws_belong_to_the_seed_of_the_data_and_to_the_client():
    data, rule = pictures(), (Noise(0.3),)
    one, same, other = (shifted(data, ROWS, rule, seed=s).data.x_train for s in (0, 0, 1))
    assert (one == same).all()
    assert (one[ROWS[4]] != other[ROWS[4]]).any()
    assert (one[ROWS[0]] == data.x_train[ROWS[0]]).all()


def test_clients_are_tested_on_what_they_see():
    """By hand: the model's accuracy on each client's part of the test images, turned as theirs."""
    spec = RunSpec(
        clients=5, rounds=2, model={"mlp": {"hidden": 8}}, shift=["rotation"], watch=["perclient"]
    )
    result, data = run(spec, machine=CPU, data=pictures(), partition=ROWS), pictures()
    made = assemble(spec, {"data": data, "partition": ROWS}, CPU, None)
    for i, accuracy in enumerate(result.tables["perclient"]["accuracy"]):
        rows = made.own_test.rows[i].numpy()
        x = torch.as_tensor(np.rot90(data.x_test[rows], i % 4, (1, 2)).copy())[:, None]
        logits, _ = made.task.net.eval(Model(result.weights, {}), made.task.prepare(x))
        assert accuracy == pytest.approx((logits.argmax(1).numpy() == data.y_test[rows]).mean())


@pytest.mark.parametrize(
    ("shift", "data", "said"),
    [
        (Rotation(), Dataset("rows", *[REALS, CLASSES] * 2, 2), "images"),
        (Colour(), Dataset("rows", *[REALS, CLASSES] * 2, 2), "images"),
        (LabelNoise(), Dataset("rows", *[REALS, REALS[:, 0]] * 2, 0), "classes"),
        (LabelNoise(), Dataset("one", *[REALS, 0 * CLASSES] * 2, 1), "two classes"),
        (LabelNoise(0.5, 0.4), pictures(), "at most"),
        (Noise(), Dataset("texts", *[np.ones((4, 3), int), CLASSES] * 2, 2, vocabulary=3), "token"),
    ],
    ids=str,
)
def test_what_does_not_fit_the_data_is_refused(shift, data, said):
    with pytest.raises(FedbenchError, match=said):
        shifted(data, [np.array([0, 1])], (shift,), seed=0)


def test_a_sample_of_two_clients_is_refused():
    with pytest.raises(FedbenchError, match="hold the same sample"):
        shifted(pictures(), [np.arange(5), np.arange(4, 9)], (Noise(),), seed=0)


@dataclass(frozen=True)
class Grows(Shift):
    """Makes other numbers of the samples."""

    def features(self, x, place):
        return x.astype(np.float64)


def test_a_rule_that_changes_the_kind_of_numbers_is_named():
    with pytest.raises(FedbenchError, match=r"Grows.* made float64 .* of uint8"):
        shifted(pictures(), ROWS, (Grows(),), seed=0)


@pytest.mark.parametrize("name", sorted(registry.entries("shift")))
def test_every_shift_runs_by_its_name_and_has_an_identity_of_its_own(name):
    spec = RunSpec(shift=[name], clients=5, rounds=1, model="mlp", watch=["perclient"])
    result = run(spec, data=pictures(), partition=ROWS, machine=CPU)
    assert result.status == "finished"
    assert "client_accuracy" in result.history
    assert spec.id != RunSpec(clients=5, rounds=1, model="mlp", watch=["perclient"]).id


@dataclass(frozen=True)
class Standard(Shift):
    """Each client scales its own samples, of which a single one has no deviation."""

    def features(self, x, place):
        with np.errstate(invalid="ignore"):
            return ((x - x.mean(0)) / x.std(0)).astype(x.dtype)


@dataclass(frozen=True)
class Flat(Shift):
    """Other shapes than it is given, where there are few samples."""

    def features(self, x, place):
        return x if len(x) > 2 else x[0]


@pytest.mark.parametrize(
    ("shift", "said"), [(Standard(), "x_test has nan at position"), (Flat(), "Flat.* both must")]
)
def test_test_samples_are_checked_as_training_samples_are(shift, said):
    rng = np.random.default_rng(0)
    x, groups = rng.normal(size=(12, 3)).astype(np.float32), np.repeat([0, 1], 6)
    data = Dataset(
        "two", x, np.arange(12) % 2, x[:2], np.arange(2), 2, groups=groups, groups_test=np.arange(2)
    )
    with pytest.raises(FedbenchError, match=said):
        shifted(data, [np.arange(6), np.arange(6, 12)], (shift,), seed=0)


def test_an_independent_split_of_the_test_set_is_refused_with_a_shift(refuses):
    watch = [{"calibration": {"test_split": "independent"}}]
    spec = RunSpec(dataset="digits", clients=3, rounds=1, shift=["labelnoise"], watch=watch)
    with refuses(r"test_split = 'independent' is not allowed: with a shift"):
        run(spec, machine=CPU)
