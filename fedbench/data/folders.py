"""Reads a published folder of files, unpacked or inside its zip archive, without extracting it."""

import zipfile
from abc import ABC, abstractmethod
from pathlib import Path, PurePosixPath

from fedbench.base.errors import FedbenchError, short


class Tree(ABC):
    """Files by their path below a top folder, with '/' between."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def names(self) -> list[str]:
        """All files, sorted."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """A file's content; raises `FedbenchError` if it is missing or damaged."""

    def text(self, name: str) -> list[str]:
        """A text file's lines without those that are empty."""
        try:
            lines = self.read(name).decode("utf-8").splitlines()
        except UnicodeDecodeError as error:
            raise FedbenchError(f"{self.path}: {name} is not text ({short(error)})") from error
        return [line for line in lines if line.strip()]


class Folder(Tree):
    """An unpacked folder."""

    def names(self) -> list[str]:
        """All files below it."""
        return sorted(
            p.relative_to(self.path).as_posix() for p in self.path.rglob("*") if p.is_file()
        )

    def read(self, name: str) -> bytes:
        """From disk."""
        try:
            return (self.path / name).read_bytes()
        except OSError as error:
            raise FedbenchError(f"{self.path}: {name} cannot be read ({error.strerror})") from None


class Zip(Tree):
    """A zip archive with one top folder, read member by member."""

    def __init__(self, path: Path, top: str) -> None:
        super().__init__(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except Exception as error:  # its directory is damaged in as many ways as a member
            raise FedbenchError(
                f"{path}: the file is not a readable zip archive ({short(error)}); delete it or "
                "put a sound one in its place"
            ) from error
        self._top = f"{top}/"
        self._refuse_strangers()

    def _refuse_strangers(self) -> None:
        """Nothing is written, but an archive with such members is not what it claims to be."""
        for info in self._zip.infolist():
            path = PurePosixPath(info.filename.replace("\\", "/"))
            is_link = info.external_attr >> 28 == 0xA
            if path.is_absolute() or ".." in path.parts or is_link:
                raise FedbenchError(
                    f"{self.path}: member {info.filename!r} leaves the archive's folder; it must "
                    f"hold plain files below {self._top}"
                )

    def names(self) -> list[str]:
        """All files below the top folder."""
        found = [i.filename for i in self._zip.infolist() if not i.is_dir()]
        return sorted(n.removeprefix(self._top) for n in found if n.startswith(self._top))

    def read(self, name: str) -> bytes:
        """From the archive."""
        try:
            return self._zip.read(self._top + name)
        except KeyError:
            raise FedbenchError(f"{self.path}: {self._top}{name} is missing") from None
        except Exception as error:  # damaged, encrypted, of an unknown compression
            raise FedbenchError(f"{self.path}: {name} is damaged ({short(error)})") from error
