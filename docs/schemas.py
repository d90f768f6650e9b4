"""JSON schemas of the YAML files, so that an editor explains fields and marks typing errors.

`python -m docs.schemas` writes them to `workflow/schemas`. fedbench itself does not read
them: it checks the models that they are made from.
"""

import ast
import json
from inspect import cleandoc, getsource
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

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


class Described(GenerateJsonSchema):
    """Describes each field by the docstring below it, which fedbench has no use for itself."""

    def model_schema(self, schema: Any) -> dict[str, Any]:
        """The schema of a model; fields that it inherits are described too."""
        made = super().model_schema(schema)
        for cls in schema["cls"].__mro__:
            described = _docstrings(cls) if cls.__module__.startswith("fedbench.") else {}
            for name in described.keys() & made.get("properties", {}).keys():
                made["properties"][name].setdefault("description", described[name])
        return made


def _docstrings(cls: type) -> dict[str, str]:
    nodes = ast.walk(ast.parse(getsource(cls)))
    body = next(node for node in nodes if isinstance(node, ast.ClassDef)).body
    return {
        field.target.id: cleandoc(text)
        for field, below in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(text := below.value.value, str)
    }


def text(kind: str) -> str:
    """The schema of a kind of file."""
    schema = SCHEMAS[kind].model_json_schema(schema_generator=Described)
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for kind in SCHEMAS:
        write_text(Path("workflow/schemas") / f"{kind}.schema.json", text(kind))
