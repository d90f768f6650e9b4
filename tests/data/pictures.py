"""Small image files in the layouts in which data sets are published."""

import hashlib
import io
import zipfile
from functools import cache

from PIL import Image

from fedbench.data.sources import public_images

WNIDS = [f"n{n:08d}" for n in range(200)]


@cache
def jpeg(side=64, grey=False, value=0):
    """The bytes of an image of one colour."""
    image = Image.new("L" if grey else "RGB", (side, side), value if grey else (value, 0, 255))
    stream = io.BytesIO()
    image.save(stream, "JPEG")
    return stream.getvalue()


def tiny(side=64):
    """Tiny-ImageNet's files: one training and one validation image a class."""
    files = {"wnids.txt": "\n".join(reversed(WNIDS)).encode()}
    for n, wnid in enumerate(WNIDS):
        files[f"train/{wnid}/images/{wnid}_0.JPEG"] = jpeg(side, grey=n == 0, value=n)
    order = [7, 0, 199, *range(1, 7), *range(8, 199)]
    notes = "".join(f"val_{n}.JPEG\t{WNIDS[n]}\t0\t0\t62\t62\n" for n in order)
    files["val/val_annotations.txt"] = notes.encode()
    return files | {f"val/images/val_{n}.JPEG": jpeg(side, value=n) for n in order}


def hundred():
    """ImageNet-100's files: one training and one validation image a class."""
    files = {f"train/c{n:02d}/a.JPEG": jpeg(8 + n % 3, value=n) for n in range(100)}
    return files | {f"val/c{n:02d}/b.JPEG": jpeg(9, value=n) for n in range(100)}


def unpacked(files, folder):
    """Write the files below a folder."""
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def packed(files, archive, top="tiny-imagenet-200"):
    """Write the files into a zip archive with one top folder."""
    with zipfile.ZipFile(archive, "w") as stream:
        for name, content in files.items():
            stream.writestr(f"{top}/{name}", content)


def one_image_a_class(monkeypatch, archive=None):
    """Let Tiny-ImageNet be this small, and the archive, if there is one, be the published one."""
    monkeypatch.setattr(public_images, "_EACH", {"train": 1, "val": 1})
    if archive:
        known = hashlib.sha256(archive.read_bytes()).hexdigest()
        remote = (public_images._REMOTE[0], known)
        monkeypatch.setattr(public_images, "_REMOTE", remote)
