"""The files of plug-ins that a plan uses: when one of them is edited, the plan is made again."""

from pathlib import Path

from fedbench.base import registry
from fedbench.base.plugins import plugin_folders
from fedbench.plan.plan import Plan


def plugin_files(plan: Plan) -> list[Path]:
    """The files of the plug-ins that its runs, figures and facts use, and of named methods."""
    used = {name: entry for run in plan.runs.values() for name, entry in run.plugins().items()}
    for paper in plan.papers.values():
        shown = [("figure", figure.kind.name) for figure in paper.figures.values()]
        shown += [("facts", facts.kind.name) for facts in paper.facts.values()]
        used |= {f"{kind} {name}": registry.find(kind, name) for kind, name in shown}
    code = {entry.folder.root / name for entry in used.values() for name in entry.sha256}
    named = {folder.root / "compositions.yaml" for folder in plugin_folders()}
    return sorted(code | {file for file in named if file.exists()})
