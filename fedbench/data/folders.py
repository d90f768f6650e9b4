"""Reads the files of a published folder, unpacked or still inside its zip archive."""

import zipfile
from abc import ABC, abstractmethod
from pathlib import Path, PurePosixPath

from fedbench.base.errors import FedbenchError, short


class Tree(ABC):
    """A folder of files; a file's name is its path below the folder, with '/' between steps."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def names(self) -> list[str]:
        """The names of all files, sorted."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """The content of a file; raises `FedbenchError` if it is missing or damaged."""

    def text(self, name: str) -> list[str]:
        """The lines of a text file, without empty ones."""
        try:
            lines = self.read(name).decode("utf-8").splitlines()
        except UnicodeDecodeError as error:
            raise FedbenchError(f"{self.path}: {name} is not text ({short(error)})") from error
        return [line for line in lines if line.strip()]


class Folder(Tree):
    """A folder on disk."""

    def names(self) -> list[str]:
        """The names of all files below the folder, sorted."""
        return sorted(
            p.relative_to(self.path).as_posix() for p in self.path.rglob("*") if p.is_file()
        )

    def read(self, name: str) -> bytes:
        """The content of a file, from disk."""
        try:
            return (self.path / name).read_bytes()
        except OSError as error:
            raise FedbenchError(f"{self.path}: {name} cannot be read ({error.strerror})") from None


class Zip(Tree):
    """A zip archive that holds one folder; its files are read one by one, not extracted."""

    def __init__(self, path: Path, top: str) -> None:
        super().__init__(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except Exception as error:  # a damaged archive raises exceptions of many kinds
            raise FedbenchError(
                f"{path}: the file is not a readable zip archive ({short(error)}); delete it or "
                "put a sound one in its place"
            ) from error
        self._top = f"{top}/"
        self._refuse_strangers()

    def _refuse_strangers(self) -> None:
        """Refuse links and paths that leave the folder: the published archive has none."""
        for info in self._zip.infolist():
            path = PurePosixPath(info.filename.replace("\\", "/"))
            is_link = info.external_attr >> 28 == 0xA
            if path.is_absolute() or ".." in path.parts or is_link:
                raise FedbenchError(
                    f"{self.path}: member {info.filename!r} leaves the archive's folder; it must "
                    f"hold plain files below {self._top}"
                )

    def names(self) -> list[str]:
        """The names of all files below the archive's folder, sorted."""
        paths = [i.filename for i in self._zip.infolist() if not i.is_dir()]
        return sorted(n.removeprefix(self._top) for n in paths if n.startswith(self._top))

    def read(self, name: str) -> bytes:
        """The content of a file, from the archive."""
        try:
            return self._zip.read(self._top + name)
        except KeyError:
            raise FedbenchError(f"{self.path}: {self._top}{name} is missing") from None
        except Exception as error:  # damaged, encrypted, of an unknown compression
            raise FedbenchError(f"{self.path}: {name} is damaged ({short(error)})") from error
