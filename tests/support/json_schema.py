"""What tests ask of the JSON Schemas that are shipped."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """
    All schemas of objects in a schema, itself included.

    :param schema: any part of a schema.
    :return: those that name properties.
    """
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for part in schema.values():
            yield from objects(part)


def check_schema(answer: Any, path: Path) -> None:
    """
    Hold an answer against the schema that is shipped, which is one itself.

    Every key of it is promised, and no other is there.

    :param answer: what a program printed.
    :param path: of the schema.
    """
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    for part in objects(schema):
        assert set(part["required"]) == set(part["properties"])
        part["additionalProperties"] = False
    jsonschema.Draft202012Validator(schema).validate(answer)


def keys_not_in(text: str, path: Path) -> list[str]:
    """
    Keys of a schema that a text does not explain.

    :param text: of a page.
    :param path: of the schema.
    """
    schema = json.loads(path.read_text())
    keys = {key for part in objects(schema) for key in part["properties"]}
    return sorted(key for key in keys - {"schema"} if f"`{key}`" not in text)
