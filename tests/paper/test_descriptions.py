"""Every field that a paper's or a scale's YAML may have is described in the JSON schema."""

import json

import pytest

from docs.schemas import text

MODELS_OF_RUNS = ("Choice", "RunSpec")  # described as a whole: a name with its parameters


def properties(schema):
    """(model, field, what the schema says of it) of every model in a schema."""
    models = {"whole file": schema} | schema.get("$defs", {})
    for model, said in models.items():
        if model not in MODELS_OF_RUNS:
            yield from ((model, field, of) for field, of in said.get("properties", {}).items())


@pytest.mark.parametrize("kind", ["paper", "scale"])
def test_every_field_has_a_sentence_that_an_editor_shows(kind):
    fields = list(properties(json.loads(text(kind))))
    assert len(fields) >= 12
    bare = [(model, field) for model, field, of in fields if len(of.get("description", "")) < 10]
    assert bare == []


def test_a_description_is_that_of_the_field():
    grid = json.loads(text("paper"))["$defs"]["Grid"]["properties"]
    assert grid["seeds"]["description"] == (
        "Each combination is trained once with each of these seeds."
    )
