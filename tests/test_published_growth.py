"""What is published only grows, by what its new runs weigh: each version of a file stays in git."""

import shutil
import subprocess

import pytest

from fedbench.jobs.export_and_restore import read_checked
from fedbench.store.published import Published, write_published
from tests.project import ROOT

PUBLISHED = "results/published"
FILES = f"{PUBLISHED}/*/*"  # below the folder of a paper
A_COMMIT = 1_000_000  # bytes that one commit may add
TEN_RUNS = 300_000  # bytes that ten new runs may cost


def git(folder, *words):
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def offences(folder):
    """What commits did to published tables since the one that brought the first of them."""
    first, *_ = git(
        *(folder, "log", "--reverse", "--diff-filter=A", "--format=%H", "--"),
        f"{PUBLISHED}/*/runs-*",
    ).split()
    for commit in git(
        folder, "log", "--no-merges", "--format=%H", f"{first}..", "--", FILES
    ).split():
        added = 0
        changes = git(
            folder, "diff-tree", "-r", "--no-renames", "--no-commit-id", commit, "--", FILES
        )
        for line in changes.splitlines():
            *_, blob, status, file = line.split(maxsplit=5)
            if status != "A":
                yield f"{commit[:8]} rewrites {file}"
            else:
                added += int(git(folder, "cat-file", "-s", blob))
        if added > A_COMMIT:
            yield f"{commit[:8]} adds {added:,} bytes"


def test_no_published_file_is_rewritten_and_no_commit_adds_more_than_a_megabyte():
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("no git history here")
    if git(ROOT, "rev-parse", "--is-shallow-repository").strip() == "true":
        pytest.skip("a shallow clone has no history")
    assert [*offences(ROOT)] == []


@pytest.fixture
def repository(tmp_path):
    """A repository with one large export, which came first, and a small one."""
    if not shutil.which("git"):
        pytest.skip("there is no git here")
    git(tmp_path, "init", "-q")
    commit(tmp_path, {"old.parquet": 9, "a/runs-1.parquet": 2 * A_COMMIT, "a/rounds-1.parquet": 1})
    commit(tmp_path, {"a/runs-2.parquet": A_COMMIT - 1, "b/runs-1.parquet": 1})
    return tmp_path


def commit(folder, files):
    """Write files of these sizes, and delete those of no size."""
    for name, size in files.items():
        file = folder / PUBLISHED / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * size) if size else file.unlink()
    git(folder, "add", "--all")
    user = ("-c", "user.name=ann", "-c", "user.email=ann@here")
    git(folder, *user, "commit", "-q", "-m", "more")


def test_the_first_export_is_exempt_and_additions_are_allowed(repository):
    assert [*offences(repository)] == []
    commit(repository, {"old.parquet": 0})
    assert [*offences(repository)] == []


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"a/runs-2.parquet": 5}, "rewrites results/published/a/runs-2.parquet"),
        ({"a/runs-1.parquet": 0}, "rewrites results/published/a/runs-1.parquet"),
        ({"c/runs-1.parquet": 700_000, "c/rounds-1.parquet": 300_001}, "adds 1,000,001 bytes"),
    ],
)
def test_a_rewrite_or_a_large_commit_is_noticed(repository, files, words):
    commit(repository, files)
    commit(repository, {"d/runs-1.parquet": 1})
    (offence,) = offences(repository)
    assert offence.endswith(words)


def test_ten_new_runs_cost_their_own_bytes(tmp_path):
    published = sorted((ROOT / PUBLISHED).glob("arena/runs-*.parquet"))
    if not published:
        pytest.skip("no run of the arena is published here")
    whole = read_checked(published[0])
    ten = Published(dict([*whole.runs.items()][100:110]), data=whole.data)
    files = write_published(ten, tmp_path / "arena", "2026-11-28", {})
    assert sum(file.stat().st_size for file in files) <= TEN_RUNS
