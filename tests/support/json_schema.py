"""What tests ask of the JSON Schemas that are shipped."""

from collections.abc import Iterator
from typing import Any


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
