"""Types of the API for the console, made of the OpenAPI document: adapters/console/source/src/api/types.ts.

``TENANTRY_TEST_REWRITE_GOLDEN=1 .venv/bin/pytest tests/console/test_types.py`` writes them.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from tests.http.app import Json

FILE = Path(__file__).resolve().parents[2] / "adapters/console/source/src/api/types.ts"
REFERENCE = "#/components/schemas/"

USED = (
    "ApiKeyItem",
    "Begun",
    "Challenge",
    "DeliveryItem",
    "DomainItem",
    "EntityList",
    "FactorItem",
    "FactorList",
    "HeldPermission",
    "HistoryEntry",
    "Imported",
    "InvitationItem",
    "JoinRequestItem",
    "LinkedProvider",
    "ListedRoleItem",
    "LoginResult",
    "MemberItem",
    "NewRecoveryCodes",
    "NewWebhook",
    "OwnSettings",
    "Permission",
    "Profile",
    "ReceivedInvitation",
    "RefreshResult",
    "ServiceAccountItem",
    "SessionItem",
    "SystemReport",
    "Tenant",
    "TestResult",
    "TrafficPoint",
    "UserDetail",
    "UserItem",
    "WebhookItem",
)
"""Schemas that the console names; those that they refer to come along."""


def types_of(document: Json) -> str:
    """The text of the file: an interface for each schema, with what the document says about it."""
    schemas = document["components"]["schemas"]
    parts = [
        "// Made of the OpenAPI document by tests/console/test_types.py: change the service, and not this file.\n",
        *(_interface(name, schemas[name]) for name in sorted(_with_references(schemas))),
    ]
    return "\n".join(parts)


def _with_references(schemas: Json) -> set[str]:
    found: set[str] = set()
    waiting = list(USED)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_references(schemas[name]))
    return found


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].removeprefix(REFERENCE)
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)


def _interface(name: str, schema: Json) -> str:
    if "properties" not in schema:
        return f"export type {name} = {_type(schema)};\n"
    needed = set(schema.get("required", ()))
    fields = [
        f"  {_key(field)}{'' if field in needed else '?'}: {_type(described)};"
        for field, described in schema["properties"].items()
    ]
    return "\n".join([f"export interface {name} {{", *fields, "}", ""])


def _key(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name)


PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def _type(schema: Json) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(REFERENCE)
    if values := schema.get("enum") or [schema[word] for word in ("const",) if word in schema]:
        return " | ".join(json.dumps(value) for value in values)
    if variants := schema.get("anyOf") or schema.get("oneOf"):
        return " | ".join(dict.fromkeys(_type(variant) for variant in variants))
    return _of_kind(schema, schema.get("type"))


def _of_kind(schema: Json, kind: object) -> str:
    """A schema without variants; ``unknown`` where it says nothing about its value."""
    if "prefixItems" in schema:
        return f"[{', '.join(map(_type, schema['prefixItems']))}]"
    if kind == "array":
        items = _type(schema.get("items", {}))
        return f"({items})[]" if "|" in items else f"{items}[]"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"Record<string, {_type(values)}>" if isinstance(values, dict) and values else "Record<string, unknown>"
    return PLAIN.get(str(kind), "unknown")
