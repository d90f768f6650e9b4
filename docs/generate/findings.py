"""What the published runs say; until there are any, a sentence that says so."""

from pathlib import Path

from docs.generate.markdown import code, escaped, table
from fedbench.paper.paper import load_papers

ROOT = Path(__file__).parents[2]


def findings(root: Path = ROOT) -> str:
    """A table of the published files, one for each paper with its title."""
    files = sorted((root / "results/published").glob("*.parquet"))
    if not files:
        return "No results have been published yet."
    papers = load_papers(ROOT / "workflow", tuple(file.stem for file in files))
    rows = [
        [code(file.relative_to(root)), escaped(papers[file.stem].title), _megabytes(file)]
        for file in files
    ]
    return table(("file", "paper", "MB"), rows)


def _megabytes(file: Path) -> str:
    return f"{file.stat().st_size / 1e6:.1f}"
