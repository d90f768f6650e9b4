"""Damaged input of every source but text: one sentence that names the file, nothing left behind.

Each case is what lies in the data folder, and words of the sentence that refuses it.
"""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest
import torchvision
from PIL import Image

from fedbench.base.errors import FedbenchError
from fedbench.data.sources.file import File
from fedbench.data.sources.public_images import CIFAR10, CIFAR100, MNIST, ImageNet100, TinyImageNet
from tests.data import network
from tests.data.pictures import hundred, jpeg, one_image_a_class, tiny, unpacked
from tests.data.test_archive import arrays

TOP = "tiny-imagenet-200"
GREY = (28, 28)


def listing(folder):
    """Everything in a folder, links and contents included."""
    return {
        str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None
        for p in folder.rglob("*")
    }


def refusal(source, folder):
    before = listing(folder)
    with pytest.raises(FedbenchError) as caught:
        source.load(folder)
    assert listing(folder) == before
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    def fail(*args, **kwargs):
        raise OSError("no network")

    for name in ("MNIST", "CIFAR10", "CIFAR100"):
        monkeypatch.setattr(torchvision.datasets, name, fail)
    network.cut_off(monkeypatch)


# --- one npz file a source ----------------------------------------------------------------------


def npz(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def changed(**changes):
    """MNIST with some arrays changed, or left out where they are None."""
    return npz(**{k: v for k, v in (arrays() | changes).items() if v is not None})


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def bad_member():
    """An archive whose member is text, not an array."""
    stream = io.BytesIO(changed(x_test=None))
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("x_test.npy", b"a picture of a seven")
    return stream.getvalue()


def flipped(content, at):
    return content[:at] + bytes([content[at] ^ 255]) + content[at + 1 :]


OBJECTS = np.array([{"a": 1}] * 5, object)
NPZ = {
    "zero bytes": (b"", "not a readable npz archive"),
    "truncated": (changed()[:-200], "not a readable npz archive"),
    "half of it": (changed()[: len(changed()) // 2], "not a readable npz archive"),
    "a flipped byte": (flipped(changed(), 3000), "x_train cannot be read (BadZipFile: Bad CRC-32"),
    "text": (b"label,pixel\n1,2\n" * 50, "not a readable npz archive"),
    "an image": (jpeg(), "not a readable npz archive"),
    "a pickle": (pickle.dumps(arrays()), "not a readable npz archive"),
    "an empty archive": (
        b"PK\x05\x06" + bytes(18),
        "x_train is missing; the file must hold x_train, y_train, x_te",
    ),
    "a single array": (npy(np.zeros(3)), "the file holds a single array; it must be an npz"),
    "a missing member": (changed(y_test=None), "y_test is missing; the file must hold x_train,"),
    "a member of text": (bad_member(), "x_test is not a NumPy array"),
    "pickled members": (changed(x_test=OBJECTS), "x_test cannot be read (ValueError: Object arr"),
    "images of float64": (
        changed(x_train=np.zeros((10, *GREY))),
        "x_train has samples of float64 and",
    ),
    "NaN": (changed(x_test=np.full((5, *GREY), np.nan)), "x_test has samples of float64 and sha"),
    "colour images": (changed(x_test=np.zeros((5, 28, 28, 3), np.uint8)), "x_test has samples of"),
    "no axes": (changed(x_train=np.uint8(7)), "x_train has samples of uint8 and shape (); images"),
    "no sample": (
        changed(x_test=np.zeros((0, *GREY), np.uint8), y_test=np.zeros(0, int)),
        "x_test is empty: its shape is (0, 28, 28)",
    ),
    "float labels": (changed(y_train=np.arange(10.0)), "y_train has dtype float64 and shape (10,"),
    "labels in words": (changed(y_train=np.array(list("abcdefghij"))), "y_train has dtype <U1"),
    "a negative label": (changed(y_test=np.arange(-1, 4)), "y_test has label -1 at position 0"),
    "a label too large": (changed(y_train=np.arange(1, 11)), "y_train has label 10 at position 9"),
    "too few labels": (changed(y_test=np.arange(4)), "x_test has 5 samples, but y_test 4 labels"),
    "one-hot labels": (changed(y_train=np.eye(10, dtype=int)), "and shape (10, 10); labels"),
    "one class only": (changed(y_train=np.zeros(10, int)), "y_train has 1 different labels; mnist"),
}


@pytest.mark.parametrize(("content", "words"), NPZ.values(), ids=NPZ)
def test_a_damaged_npz_file(content, words, tmp_path):
    file = tmp_path / "mnist.npz"
    file.write_bytes(content)
    sentence = refusal(MNIST(), tmp_path)
    assert sentence.startswith(f"mnist ({file}): ")
    assert words in sentence


@pytest.mark.parametrize("source", [MNIST(), CIFAR10(), CIFAR100(), TinyImageNet()])
@pytest.mark.parametrize("damage", ["zero bytes", "truncated", "pickled", "foreign", "folder"])
def test_every_source_of_one_file(source, damage, tmp_path):
    name = type(source).__name__.lower()
    file = tmp_path / f"{name}.npz"
    if damage == "folder":
        file.mkdir()
    else:
        contents = {"zero bytes": b"", "truncated": changed()[:700], "pickled": pickle.dumps({})}
        file.write_bytes(contents.get(damage) or npz(**arrays((9, 9), 7)) * (damage == "foreign"))
    assert f"{name} ({file}): " in refusal(source, tmp_path)


@pytest.mark.parametrize("source", [MNIST(), CIFAR10(), CIFAR100(), TinyImageNet()])
def test_a_missing_file_without_a_network(source, tmp_path):
    sentence = refusal(source, tmp_path)
    assert str(tmp_path) in sentence
    assert "put" in sentence
    assert "OSError: no network" in sentence


# --- Tiny-ImageNet ------------------------------------------------------------------------------

IMAGE = "train/n00000007/images/n00000007_0.JPEG"
NOTES = "val/val_annotations.txt"
FILES = tiny()
LINES = FILES[NOTES].decode().splitlines(keepends=True)


def png(size):
    stream = io.BytesIO()
    Image.new("RGB", size).save(stream, "PNG")
    return stream.getvalue()


def notes(*lines):
    return {NOTES: "".join(lines).encode()}


WNIDS = FILES["wnids.txt"]
TINY = {
    "zero-byte image": ({IMAGE: b""}, f"{IMAGE}: the file is not a readable image (Unidentified"),
    "half an image": ({IMAGE: jpeg(64)[:400]}, f"{IMAGE}: the file is not a readable image (OSErr"),
    "text, not an image": ({IMAGE: b"a seven"}, f"{IMAGE}: the file is not a readable image"),
    "a smaller image": ({IMAGE: jpeg(32)}, f"{IMAGE} is (32, 32) pixels, not (64, 64)"),
    "a PNG of other size": ({IMAGE: png((64, 63))}, f"{IMAGE} is (63, 64) pixels"),
    "a missing class folder": ({IMAGE: None}, "train images of class 'n00000007': 0; by wnids.txt"),
    "an image too many": (
        {IMAGE.replace("_0", "_1"): jpeg()},
        "train images of class 'n00000007': 2",
    ),
    "an unknown class": (
        {"train/n9/images/n9_0.JPEG": jpeg()},
        "train images of class 'n9': 1; by wnids.txt 0",
    ),
    "no list of classes": ({"wnids.txt": None}, "wnids.txt"),
    "half the classes": ({"wnids.txt": WNIDS[:1000]}, "wnids.txt has 100 lines with 100 different"),
    "a class twice": ({"wnids.txt": WNIDS + b"\nn00000001"}, "wnids.txt has 201 lines with 200"),
    "binary classes": ({"wnids.txt": b"\xff\xfe"}, "wnids.txt: not UTF-8 text (byte 1)"),
    "no annotations": ({NOTES: None}, NOTES),
    "empty annotations": ({NOTES: b""}, "val/val_annotations.txt for 'val/images/val_0.JPEG': 0; "),
    "a missing annotation": (
        notes(*LINES[1:]),
        "for 'val/images/val_7.JPEG': 0; by the images 1",
    ),
    "an annotation twice": (notes(*LINES, LINES[3]), "for 'val/images/val_1.JPEG': 2; by the"),
    "a cut annotation": (notes(*LINES[:-1], "val_198.JPEG"), "val images of class '': 1; by wnid"),
    "a strange annotation": (notes("val_7.JPEG\tn8\n", *LINES[1:]), "val images of class 'n8': 1"),
    "an annotation out of the folder": (
        notes("../../wnids.txt\tn00000001\n", *LINES),
        "val/val_annotations.txt for 'val/images/../../wnids.txt': 1; by the images 0",
    ),
    "a missing image": ({"val/images/val_3.JPEG": None}, "for 'val/images/val_3.JPEG': 1; by the"),
    "unequal classes": (
        notes(*LINES[:-1], LINES[-1].replace("n00000198", "n00000001")),
        "val images of class 'n00000001': 2; by wnids.txt 1",
    ),
}


def with_changes(files, changes):
    return {k: v for k, v in (files | changes).items() if v is not None}


@pytest.mark.parametrize(("changes", "words"), TINY.values(), ids=TINY)
def test_a_damaged_tiny_imagenet(changes, words, tmp_path, monkeypatch):
    unpacked(with_changes(FILES, changes), tmp_path / TOP)
    one_image_a_class(monkeypatch)
    sentence = refusal(TinyImageNet(), tmp_path)
    assert str(tmp_path / TOP) in sentence
    assert words in sentence


def test_half_an_unpacked_tiny_imagenet(tmp_path):
    unpacked(FILES, tmp_path / TOP)  # one of 500 images per class
    assert "train images of class 'n00000000': 1; by wnids.txt 500" in refusal(
        TinyImageNet(), tmp_path
    )


@pytest.mark.parametrize("content", [b"", b"<html>not found</html>", changed()])
def test_another_archive_than_the_published_one_is_not_opened(content, tmp_path):
    (tmp_path / f"{TOP}.zip").write_bytes(content)
    assert f"{TOP}.zip): the sha256 is " in refusal(TinyImageNet(), tmp_path)


# --- ImageNet-100 -------------------------------------------------------------------------------

HUNDRED = {
    "zero-byte image": ({"train/c50/a.JPEG": b""}, "c50/a.JPEG: the file is not a readable image"),
    "text in the last image": ({"val/c99/b.JPEG": b"text"}, "c99/b.JPEG: the file is not a read"),
    "half an image": ({"val/c00/b.JPEG": jpeg(9)[:300]}, "c00/b.JPEG: the file is not a readable"),
    "a missing class": (
        {"train/c07/a.JPEG": None, "val/c07/b.JPEG": None},
        "has 99 classes to train on, and in only one of train and val none; it must hold 100 as t",
    ),
    "a class without test images": ({"val/c07/b.JPEG": None}, "in only one of train and val c07; "),
    "an empty class": (
        {"train/c07/a.JPEG": None, "train/c07/read.txt": b"no image"},
        "has 99 classes to train on, and in only one of train and val c07; it must hold 100",
    ),
    "no test images": (
        {f"val/c{n:02d}/b.JPEG": None for n in range(100)},
        "in only one of train and val c00, c01",
    ),
}


@pytest.mark.parametrize(("changes", "words"), HUNDRED.values(), ids=HUNDRED)
def test_damaged_folders_of_imagenet100(changes, words, tmp_path):
    unpacked(with_changes(hundred(), changes), tmp_path / "imagenet100")
    sentence = refusal(ImageNet100(size=8), tmp_path)
    assert str(tmp_path / "imagenet100") in sentence
    assert words in sentence


def test_no_imagenet100_at_all(tmp_path):
    sentence = refusal(ImageNet100(size=8), tmp_path)
    assert f"{tmp_path / 'imagenet100'} has 0 classes to train on" in sentence
    assert "it must hold 100 as train/<class>" in sentence


def other_facts(**changes):
    return lambda facts: json.dumps(json.loads(facts) | changes).encode()


PIXELS, FACTS = "imagenet100-8.npy", "imagenet100-8.json"
KEPT = {
    "zero bytes": (PIXELS, lambda _: b"", "not a readable npy array"),
    "half": (PIXELS, lambda b: b[: len(b) // 2], "not a readable npy array (ValueError: mmap len"),
    "a flipped byte": (PIXELS, lambda b: flipped(b, -9), "the sha256 is not that of imagenet100"),
    "a byte too many": (PIXELS, lambda b: b + b"!", "the sha256 is not that of imagenet100-8"),
    "an npz file": (PIXELS, lambda _: npz(x=np.zeros(3)), "not a readable npy array (ValueError"),
    "pickled": (PIXELS, lambda _: pickle.dumps([1]), "not a readable"),
    "of another size": (
        PIXELS,
        lambda _: npy(np.zeros((200, 3, 4, 4), np.uint8)),
        "the file holds uint8 of shape (200, 3, 4, 4); by imagenet100-8.json it must be uint8 of",
    ),
    "of another type": (
        PIXELS,
        lambda _: npy(np.zeros((200, 3, 8, 8), np.float32)),
        "the file holds float32 of shape (200, 3, 8, 8)",
    ),
    "facts of zero bytes": (FACTS, lambda _: b"", "imagenet100-8.json: must be a mapping"),
    "half the facts": (FACTS, lambda b: b[: len(b) // 2], "imagenet100-8.json: not valid YAML"),
    "facts without counts": (FACTS, lambda _: b"{}", "imagenet100-8.json: classes is missing"),
    "a negative count": (FACTS, other_facts(test=[-1] * 100), "imagenet100-8.json: test.0 = -1 is"),
    "fewer classes": (FACTS, other_facts(train=[100]), "train and test must have 100 entries"),
    "more images": (FACTS, other_facts(train=[2] * 100), "must be uint8 of shape (300, 3, 8, 8)"),
    "another checksum": (FACTS, other_facts(sha256="0" * 64), "the sha256 is not that"),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    unpacked(hundred(), folder / "imagenet100")
    ImageNet100(size=8).load(folder)
    return {name: (folder / name).read_bytes() for name in (PIXELS, FACTS)}


@pytest.mark.parametrize(("name", "damage", "words"), KEPT.values(), ids=KEPT)
def test_damaged_pixels_of_imagenet100(name, damage, words, kept, tmp_path):
    unpacked(kept | {name: damage(kept[name])}, tmp_path)
    sentence = refusal(ImageNet100(size=8), tmp_path)
    assert str(tmp_path / name) in sentence or str(tmp_path / PIXELS) in sentence
    assert words in sentence


# --- a file of one's own ------------------------------------------------------------------------

X, Y = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])
FOUR = {"x_train": X, "y_train": Y, "x_test": X, "y_test": Y}
OWN = {
    "zero bytes": (b"", "not a readable npz archive"),
    "a single array": (npy(X), "the file holds a single array"),
    "an empty archive": (b"PK\x05\x06" + bytes(18), "x_train is missing; the file must hold"),
    "x alone": (npz(x=X), "y_train, x_test, y_test or x, y; it holds x"),
    "no x_test": (npz(x_train=X, y_train=Y, y_test=Y), "x_test is missing"),
    "pickled": (npz(x=X, y=np.array([0, 1, None, 1])), "y cannot be read (ValueError: Object arr"),
    "NaN": (npz(x=np.where(X == 4, np.nan, X), y=Y), "x_t"),
    "infinite": (npz(**FOUR | {"x_test": np.full((4, 2), np.inf)}), "has inf"),
    "whole numbers": (npz(x=X.astype(int), y=Y), "x_train has dtype int64 and shape (2, 2);"),
    "no axis": (npz(x=np.float64(3), y=Y), "x has shape (), labels or groups (4,)"),
    "five axes": (npz(x=np.zeros((4, 1, 1, 1, 1)), y=Y), "and shape (2, 1, 1, 1, 1); it must"),
    "unlike test images": (npz(**FOUR | {"x_test": X[:, :1]}), "x_test has samples of float64 and"),
    "test images of other type": (npz(**FOUR | {"x_test": X.astype(np.float32)}), "x_train of fl"),
    "a label short": (npz(x=X, y=Y[:3]), "x has shape (4, 2), labels or groups (3,)"),
    "a test label short": (npz(**FOUR | {"y_test": Y[:3]}), "x_test has 4 samples, but y_test 3 "),
    "float labels": (npz(x=X, y=Y / 2), "y is float64 of shape (4,); labels must be whole number"),
    "boolean labels": (npz(x=X, y=Y > 0), "y is bool of shape (4,); labels must be whole numbers"),
    "a negative label": (npz(x=X, y=Y - 1), "y has label -1; whole numbers must be ≥ 0"),
    "one class only": (npz(x=X, y=Y * 0), "y has only the label '0'; it needs at least two class"),
    "no sample": (npz(x=X[:0], y=Y[:0]), "y has no labels; it needs at least two classes"),
    "one-hot labels": (npz(x=X, y=np.eye(4, dtype=int)), "y is int64 of shape (4, 4)"),
    "an unknown test label": (
        npz(**FOUR | {"y_test": np.array([0, 1, 2, 1])}),
        "y_test: no training sample has label '2', at position 2",
    ),
    "float test labels": (npz(**FOUR | {"y_test": Y / 2}), "y_test is float64 of shape (4,)"),
    "nan among words": (
        npz(x=X, y=np.array(["b", "nan", "b", "nan"])),
        "y has the label 'nan' at position 1; so missing values are written, and every sample n",
    ),
    "an empty test label": (
        npz(**FOUR | {"y_train": np.array(list("aabb")), "y_test": np.array(["a", "", "b", "b"])}),
        "y_test: no training sample has label '', at position 1",
    ),
    "an empty label": (npz(x=X, y=np.array(["b", "a", "", "a"])), "the label '' at position 2; so"),
    "words among numbers": (
        npz(**FOUR | {"y_test": np.array(["0", "1", "0", "1"])}),
        "y_test is <U1 of shape (4,); those to train on are int64 (N,)",
    ),
}


@pytest.mark.parametrize(("content", "words"), OWN.values(), ids=OWN)
def test_a_damaged_npz_file_of_ones_own(content, words, tmp_path):
    file = tmp_path / "my.npz"
    file.write_bytes(content)
    drawn = {} if b"x_test" in content else {"test": 0.5}
    sentence = refusal(File(path="my.npz", **drawn), tmp_path)
    assert sentence.startswith(f"file ({file}): ")
    assert words in sentence


def test_arrays_of_other_names_are_warned_of(tmp_path):
    (tmp_path / "my.npz").write_bytes(npz(x_val=X, group=Y, **FOUR))
    with pytest.warns(UserWarning, match="my.npz: x_val, group are not read, only x_train,"):
        File(path="my.npz").load(tmp_path)


TABLES = {
    "zero bytes": (b"", "the file is empty; it must be comma-separated UTF-8 text whose first lin"),
    "blank lines": (b"\n\n\n", "the file is empty"),
    "a heading only": (b"a,b\n", "the file has no row below its first line"),
    "no heading": (b"1,2\n3,4\n", "line 1 must name the columns, but '1' is a number"),
    "a row for a heading": (b"5,3,kind\n4,2,x\n1,2,y\n", "line 1 must name the columns, but '5'"),
    "one column": (b"kind\nx\ny\n", "the file has one column; it needs labels and features"),
    "no UTF-8": (b"a,kind\n1,\xff\n", "not a readable table (UnicodeDecodeError: 'utf-8'"),
    "an open quote": (b'a,kind\n1,"x\n2,y\n', "not a readable table (Error: unexpected end of da"),
    "a quote inside": (b'a,kind\n1,"x"y\n', "not a readable table (Error: ',' expected after"),
    "a quote inside, below": (
        b'a,kind\n1,x\n2,y\n"3"4,x\n',
        "not a readable table (Error: ',' exp",
    ),
    "an image": (jpeg(), "not a readable table (UnicodeDecodeError"),
    "a text cell": (b"a,b,kind\n1,2,x\n1,many,y\n", "line 3, column 'b' has 'many'; features must"),
    "an empty cell": (b"a,b,kind\n1,,x\n1,2,y\n", "line 2, column 'b' has ''; features must be fi"),
    "NaN": (b"a,kind\n1,x\nNaN,y\n", "line 3, column 'a' has 'NaN'; features must be finite num"),
    "infinite": (b"a,kind\n1,x\n-inf,y\n", "line 3, column 'a' has '-inf'"),
    "too large": (b"a,kind\n1,x\n1e60,y\n", "line 3, column 'a' has '1e60'; features must be fin"),
    "a line break in a cell": (b'a,kind\n"1\n2",x\n', "column 'a' has '1\\n2'; features must be"),
    "a cell short": (
        b"a,b,kind\n1,2,x\n1,y\n",
        "line 3 has 2 cells, but the first line has 3",
    ),
    "a cell too many": (b"a,kind\n1,x\n1,2,y\n", "line 3 has 3 cells, but the first line has"),
    "semicolons": (b"a;b;kind\n1;2;x\n", "one column (cells are separated by ';', not by commas)"),
    "tabs": (b"a\tkind\n1\tx\n2\ty\n", "one column (cells are separated by '\\t', not by commas)"),
    "decimal commas": (b'a,kind\n1,x\n"1,5",y\n', "line 3, column 'a' has '1,5'; features must"),
    "a date": (
        b"a,kind\n2024-05-01,x\n2,y\n",
        "line 2, column 'a' has '2024-05-01'; features must",
    ),
    "True among numbers": (b"a,kind\n1,x\nTrue,y\n", "line 3, column 'a' has 'True'; features mu"),
    "all rows too long": (b"a,kind\n1,x,\n2,y,\n", "line 2 has 3 cells, but the first line has"),
    "the first bad cell": (
        b"a,kind\n1,x\n1,nan\n,y\n",
        "line 3, column 'kind' has the label 'nan'",
    ),
    "an index of pandas": (b",a,kind\n0,5,x\n1,5,y\n", "a column named '' numbers the rows, as th"),
    "a mixed index": (b",a,kind\n7,5,x\n3,5,y\n", "the index that pandas writes; write the table"),
    "an index of R": (b'"","a","kind"\n"1",5,x\n"2",5,y\n', "a column named '' numbers the rows"),
    "an index twice": (b"a,Unnamed: 0,kind\n5,0,x\n5,1,y\n", "a column named 'Unnamed: 0' numbers"),
    "no line of names": (b"1.4,0.2,setosa\n1.3,0.3,x\n", "name the columns, but '1.4' is a number"),
    "a name twice": (b"a,a,kind\n1,2,x\n3,4,y\n", "two columns are named 'a'; names must differ"),
    "no label": (b"a,kind\n1,x\n2, \n", "line 3, column 'kind' has the label ''; so missing"),
    "a label nan": (b"a,kind\n1,nan\n2,x\n", "column 'kind' has the label 'nan'; so missing val"),
    "a label NA": (
        b"a,kind\n1,1\n2,NA\n",
        "line 3, column 'kind' has the label 'NA'; so missing va",
    ),
    "float labels": (b"a,kind\n1,0.5\n2,1\n", "column 'kind' has label '0.5', not a whole number"),
    "a negative label": (b"a,kind\n1,-1\n2,1\n", "y has label -1; whole numbers must be ≥ 0"),
    "one class only": (b"a,kind\n1,x\n2,x\n", "y has only the label 'x'; it needs at least two"),
    "nothing to test on": (b"a,kind\n1,x\n2,y\n", "test = 0.5 of each class or group is none"),
}


@pytest.mark.parametrize(("content", "words"), TABLES.values(), ids=TABLES)
def test_a_damaged_table_of_ones_own(content, words, tmp_path):
    file = tmp_path / "my.csv"
    file.write_bytes(content)
    sentence = refusal(File(path="my.csv", test=0.5), tmp_path)
    assert sentence.startswith(f"file ({file}): ")
    assert words in sentence


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "File: path = '' is not allowed; it must end in .npz or .csv"),
        ({"path": "my.xlsx"}, "path = 'my.xlsx' is not allowed"),
        ({"path": "gone.csv"}, "gone.csv): there is no such file; `path` must name one"),
        ({"path": "folder.csv"}, "folder.csv): there is no such file"),
        ({"path": "my.csv", "label": "sort"}, "no column 'sort' for the labels, only 'a', 'k"),
        ({"path": "my.npz", "label": "kind"}, "File: label = 'kind', but "),
    ],
    ids=["no path", "no such kind", "no such file", "a folder", "no such column", "no columns"],
)
def test_settings_that_name_what_is_not_there(settings, words, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "my.csv").write_text("a,kind\n1,x\n2,y\n")
    (tmp_path / "my.npz").write_bytes(npz(x=X, y=Y))
    assert words in refusal(File(**settings), tmp_path)


def test_a_file_of_the_working_folder_is_found_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.csv").write_text("a,kind\n1,x\n2,y\n")
    words = "it is in the working folder: give `--data-dir .` or an absolute path"
    assert refusal(File("my.csv"), tmp_path / "data").endswith(words)
    assert words not in refusal(File("gone.csv"), tmp_path / "data")


@pytest.mark.parametrize("settings", [{"test": 0.0}, {"test": 1.0}, {"seed": -1}, {"path": 3}])
def test_settings_out_of_range(refuses, settings):
    with refuses(r"^File: \w+ = .* is not allowed; it must be"):
        File(**settings)
