"""The committed JSON schemas are those of the models, and refuse a typo."""

import jsonschema
import pytest
import yaml

from fedbench.paper.schemas import SCHEMAS, text
from tests.project import ROOT


def schema(kind):
    return yaml.safe_load((ROOT / f"workflow/schemas/{kind}.schema.json").read_text())


@pytest.mark.parametrize("kind", SCHEMAS)
def test_the_committed_schema_is_the_models(kind):
    committed = (ROOT / f"workflow/schemas/{kind}.schema.json").read_text()
    assert committed == text(kind), "run `python -m fedbench.paper.schemas`"


@pytest.mark.parametrize("kind", ["paper", "scale"])
def test_the_files_fit_and_a_typo_does_not(kind):
    for file in sorted((ROOT / f"workflow/{kind}s").glob("*.yaml")):
        content = yaml.safe_load(file.read_text())
        jsonschema.validate(content, schema(kind))
        with pytest.raises(jsonschema.ValidationError, match="tabels"):
            jsonschema.validate(content | {"tabels": {}}, schema(kind))


def test_the_workflows_settings_have_a_schema():
    config = yaml.safe_load((ROOT / "workflow/config.yaml").read_text())
    jsonschema.validate(config, schema("config"))
    with pytest.raises(jsonschema.ValidationError, match="devise"):
        jsonschema.validate(config | {"devise": "cpu"}, schema("config"))
