"""Two readable views of the OpenAPI document for review: one entity in full, and a digest of every other operation."""

import json
from collections.abc import Iterator
from textwrap import wrap

from tests.http.app import Json

ENTITY = "/api/products"
WIDTH = 120


def entity_in_full(document: Json) -> str:
    """Operations on ENTITY, and every component that they refer to."""
    paths = {path: item for path, item in document["paths"].items() if _is_of_entity(path)}
    components: Json = {}
    for kind, name in _references(paths, document, set()):
        components.setdefault(kind, {})[name] = document["components"][kind][name]
    shown = {"paths": paths, "components": {kind: dict(sorted(found.items())) for kind, found in components.items()}}
    return _pretty(shown) + "\n"


def digest(document: Json) -> str:
    """A paragraph for each operation that does not stand in ``entity_in_full``."""
    paths = ((path, item) for path, item in sorted(document["paths"].items()) if not _is_of_entity(path))
    paragraphs = [
        "\n".join(_operation(method, path, operation, document))
        for path, item in paths
        for method, operation in sorted(item.items())
    ]
    return "\n\n".join(paragraphs) + "\n"


def _is_of_entity(path: str) -> bool:
    return path == ENTITY or path.startswith(f"{ENTITY}/")


def _operation(method: str, path: str, operation: Json, document: Json) -> Iterator[str]:
    """``POST /api/auth/login authLogin``, then its security, parameters, body and responses."""
    yield f"{method.upper()} {path} {operation['operationId']}"
    yield f"  security: {' '.join(name for given in operation['security'] for name in given) or 'none'}"
    parameters = [_resolved(parameter, document) for parameter in operation["parameters"]]
    for place in dict.fromkeys(parameter["in"] for parameter in parameters):
        names = ", ".join(parameter["name"] for parameter in parameters if parameter["in"] == place)
        yield from wrap(f"{place}: {names}", WIDTH, initial_indent="  ", subsequent_indent="    ")
    if "requestBody" in operation:
        yield f"  body: {_contents(operation['requestBody'])}"
    errors: dict[str, list[str]] = {}
    for status, given in sorted(operation["responses"].items()):
        response = _resolved(given, document)
        shown = _contents(response)
        if shown.startswith("Error"):
            errors.setdefault(shown, []).append(status)
            continue
        headers = sorted(name for name in response.get("headers", ()) if not name.startswith("X-RateLimit"))
        yield f"  {status}: {shown}" + (f" + {', '.join(headers)}" if headers else "")
    yield from (f"  {shown}: {' '.join(statuses)}" for shown, statuses in errors.items())


def _contents(described: Json) -> str:
    """``ErrorA`` for JSON of that schema, ``text/csv string`` for another content type."""
    shown = (
        (kind, _schema(content["schema"])) for kind, content in described.get("content", {"": {"schema": {}}}).items()
    )
    return " | ".join(name if kind in ("application/json", "") else f"{kind} {name}" for kind, name in shown)


def _schema(schema: Json) -> str:
    """A schema's name, with its members where it has none: ``{isSuccess, data: Profile}``."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            return " or ".join(_schema(part) for part in schema[choice])
    if "items" in schema:
        return f"[{_schema(schema['items'])}]"
    if "properties" in schema:
        members = (f"{name}: {_schema(part)}" for name, part in schema["properties"].items() if name != "meta")
        return "{" + ", ".join(members) + "}"
    return json.dumps(schema["const"]) if "const" in schema else str(schema.get("type", "nothing"))


def _resolved(described: Json, document: Json) -> Json:
    if "$ref" not in described:
        return described
    kind, name = described["$ref"].split("/")[-2:]
    resolved: Json = document["components"][kind][name]
    return resolved


def _references(value: object, document: Json, seen: set[str]) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        reference = value.get("$ref")
        if isinstance(reference, str) and reference not in seen:
            seen.add(reference)
            kind, name = reference.split("/")[-2:]
            yield kind, name
            yield from _references(document["components"][kind][name], document, seen)
        for part in value.values():
            yield from _references(part, document, seen)
    elif isinstance(value, list):
        for part in value:
            yield from _references(part, document, seen)


def _pretty(value: object, indent: str = "", before: int = 0) -> str:
    """JSON with everything on one line that fits there, and each parameter on one line of its own."""
    short = json.dumps(value, ensure_ascii=False, sort_keys=True)
    is_parameter = isinstance(value, dict) and "in" in value and "schema" in value
    if not isinstance(value, dict | list) or not value or is_parameter or len(indent) + before + len(short) < WIDTH:
        return short
    inner = indent + " "
    if isinstance(value, dict):
        keys = ((json.dumps(name, ensure_ascii=False), part) for name, part in sorted(value.items()))
        parts = [f"{inner}{key}: {_pretty(part, inner, len(key) + 2)}" for key, part in keys]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + _pretty(part, inner) for part in value) + f"\n{indent}]"
