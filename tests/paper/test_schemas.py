"""The committed JSON schemas are those of the models, and refuse a typo."""

import json

import jsonschema
import pytest

from docs.schemas import SCHEMAS, text
from fedbench.base.yamlfile import read_yaml
from tests.project import ROOT


def schema(kind):
    """What validates files of that kind, itself checked once."""
    plain = json.loads((ROOT / f"workflow/schemas/{kind}.schema.json").read_text())
    validator = jsonschema.validators.validator_for(plain)
    validator.check_schema(plain)
    return validator(plain)


@pytest.mark.parametrize("kind", SCHEMAS)
def test_the_committed_schema_is_the_models(kind):
    committed = (ROOT / f"workflow/schemas/{kind}.schema.json").read_text()
    assert committed == text(kind), "run `python -m docs.schemas`"


@pytest.mark.parametrize("kind", ["paper", "scale"])
def test_the_files_fit_and_a_typo_does_not(kind):
    wanted, files = schema(kind), (ROOT / f"workflow/{kind}s").glob("*.yaml")
    contents = [read_yaml(file) for file in files]
    for content in contents:
        wanted.validate(content)
    with pytest.raises(jsonschema.ValidationError, match="tabels"):
        wanted.validate(min(contents, key=len) | {"tabels": {}})


def test_the_workflows_settings_have_a_schema():
    config = read_yaml(ROOT / "workflow/config.yaml")
    schema("config").validate(config)
    with pytest.raises(jsonschema.ValidationError, match="devise"):
        schema("config").validate(config | {"devise": "cpu"})
