"""Builds the site: `python -m docs.build` writes `build/site`; any warning is an error.

The pages in `docs` and CONTRIBUTING.md are copied to `build/docs`, with links that fit there and
with the pieces that `docs/generate` makes from the code. `--pages` stops before they become HTML.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from docs.generate.pieces import filled, pieces

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)")
_LOADS = re.compile(
    r"<(?:script|link|img|iframe|source)\b[^>]*(?:src|href)=\"?(?:https?:)?//[^>]*>"
)
_PICTURE = re.compile(r"<img\b[^>]*src=\"?(?!\w+:|/)([^\s\">]+)")
_COPIED = ("*.md", "*.svg", "*.png", "*.css")


def write_pages(out: Path) -> None:
    """Write all pages as Markdown, with the pictures that they show."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    made = pieces(out)
    for file, place in _sources():
        target = out / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".md":
            text = filled(file.read_text(encoding="utf-8"), made)
            target.write_text(relinked(text, file, place), encoding="utf-8")
        else:
            shutil.copy(file, target)


def _sources() -> Iterator[tuple[Path, Path]]:
    """Every file of the site in the repository, and its place below the pages."""
    for pattern in _COPIED:
        for file in sorted((ROOT / "docs").rglob(pattern)):
            yield file, file.relative_to(ROOT / "docs")
        for file in sorted((ROOT / "benchmarks/results").rglob(pattern)):
            yield file, file.relative_to(ROOT)
    yield ROOT / "CONTRIBUTING.md", Path("contributing.md")


def relinked(text: str, file: Path, place: Path) -> str:
    """The page with links to files of the repository turned into links to their pages."""
    places = {source.resolve(): target for source, target in _sources()}

    def page(link: re.Match[str]) -> str:
        target = places.get((file.parent / link[1]).resolve())
        return os.path.relpath(target, place.parent) if target else link[1]

    return _LINK.sub(page, text)


def strangers(site: Path) -> list[str]:
    """What pages of the site would load from other hosts, as 'page: tag'."""
    return [
        f"{file.relative_to(site)}: {tag}"
        for file in sorted(site.rglob("*.html"))
        for tag in _LOADS.findall(file.read_text(encoding="utf-8"))
    ]


def missing(site: Path) -> list[str]:
    """Pictures that pages show but the site lacks, as 'page: picture'; Zensical looks at links."""
    return [
        f"{file.relative_to(site)}: {picture}"
        for file in sorted(site.rglob("*.html"))
        for picture in _PICTURE.findall(file.read_text(encoding="utf-8"))
        if not (file.parent / picture).is_file()
    ]


def main() -> None:
    """Write the pages, make HTML of them, and look for what they would load from elsewhere."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", action="store_true", help="write build/docs only")
    only_pages = parser.parse_args().pages
    write_pages(ROOT / "build/docs")
    if only_pages:
        return
    shutil.rmtree(ROOT / "build/site", ignore_errors=True)
    # without its cache: the pages name classes whose docstrings may have changed
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    subprocess.run(command, cwd=ROOT, check=True)  # noqa: S603
    for what, wrong in (("loaded from other hosts", strangers), ("missing pictures", missing)):
        if listed := wrong(ROOT / "build/site"):
            sys.exit(f"{what}:\n" + "\n".join(listed))


if __name__ == "__main__":
    main()
