"""JSON schemas of the YAML files, so that an editor explains fields and marks typing errors.

`python -m docs.schemas` writes them to `workflow/schemas`. fedbench itself does not read
them: it checks the models that they are made from.
"""

import json
from pathlib import Path

from fedbench.base.checks import Strict
from fedbench.base.files import write_text
from fedbench.paper.paper import Paper
from fedbench.paper.scale import Scale
from fedbench.paper.workflow_config import Settings
from fedbench.spec import RunSpec

SCHEMAS: dict[str, type[Strict]] = {
    "paper": Paper,
    "scale": Scale,
    "run": RunSpec,
    "config": Settings,
}


def text(kind: str) -> str:
    """The schema of a kind of file."""
    return json.dumps(SCHEMAS[kind].model_json_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for kind in SCHEMAS:
        write_text(Path("workflow/schemas") / f"{kind}.schema.json", text(kind))
