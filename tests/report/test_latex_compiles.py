"""The tables that a report writes are LaTeX that compiles."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.report.answers_case import PAPER, written

ODD = r'"50 % of $x_1 & {y} #2 ~ ^ \\input{z} ± − α Σ‖v − v̄‖² 90° κ ∞ ≅ x̂ ü ✓ ✗ | < 漢 😀"'
COMPILER = shutil.which("pdflatex") or shutil.which("tectonic")


@pytest.mark.skipif(COMPILER is None, reason="needs pdflatex or tectonic")
def test_all_tables_compile_in_one_document(tmp_path: Path) -> None:
    shown = written(tmp_path, "small", PAPER.replace("title: Table 1", f"title: {ODD}"))
    tables = "\n".join(rf"\input{{{file}}}" for file in sorted(shown.glob("tables/toy/*.tex")))
    head = r"\documentclass{article}\usepackage{booktabs,graphicx,amssymb}\begin{document}"
    document = tmp_path / "all.tex"
    document.write_text(f"{head}\n{tables}\n\\end{{document}}\n", encoding="utf-8")
    mode = [] if "tectonic" in str(COMPILER) else ["-interaction=nonstopmode", "-halt-on-error"]
    command = [str(COMPILER), *mode, document.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert (tmp_path / "all.pdf").stat().st_size > 0
