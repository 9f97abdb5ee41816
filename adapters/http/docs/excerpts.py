"""The document of some tags: their operations, and the components that these refer to."""

import re
from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from domain.errors import FieldError, ValidationError, unknown_name

Json = dict[str, Any]

TAG = "tag"
_REFERENCE = re.compile(rb'"#/components/(\w+)/([^"]+)"')


def asked_tags(parameters: Iterable[tuple[str, str]]) -> list[str]:
    """Tags in the query: ``?tag=auth,products``. Raises ValidationError on every other parameter."""
    given = list(parameters)
    unknown = dict.fromkeys(name for name, _ in given if name != TAG)
    if unknown:
        raise ValidationError(fields=[FieldError(name, unknown_name(name, [TAG])) for name in unknown])
    return [tag for _, tags in given for tag in tags.split(",")]


def excerpt(document: bytes, tags: Collection[str]) -> bytes:
    """The document with the operations of these tags only. Raises ValidationError on ``tag`` for an unknown one."""
    whole: Json = msgspec.json.decode(document)
    known = [tag["name"] for tag in whole["tags"]]
    if unknown := [tag for tag in tags if tag not in known]:
        raise ValidationError.on(TAG, f"{unknown[0]!r} is not a tag of the document, which has {', '.join(known)}")
    paths: Json = {}
    for path, item in whole["paths"].items():
        chosen = {method: told for method, told in item.items() if not set(tags).isdisjoint(told.get("tags", ()))}
        paths |= {path: chosen} if chosen else {}
    chosen_tags = [tag for tag in whole["tags"] if tag["name"] in tags]
    return msgspec.json.encode(
        whole | {"paths": paths, "components": _reached(paths, whole["components"]), "tags": chosen_tags}
    )


def _reached(paths: Json, components: Json) -> Json:
    """Components that the paths refer to, by others too, in the order of the document; and every security scheme."""
    reached, new = set[tuple[str, str]](), _references(paths)
    while new:
        reached |= new
        new = set[tuple[str, str]]().union(*(_references(components[kind][name]) for kind, name in new)) - reached
    kept = {
        kind: {name: part for name, part in parts.items() if (kind, name) in reached or kind == "securitySchemes"}
        for kind, parts in components.items()
    }
    return {kind: parts for kind, parts in kept.items() if parts}


def _references(part: Json) -> set[tuple[str, str]]:
    found = _REFERENCE.findall(msgspec.json.encode(part))
    return {(kind.decode(), name.decode()) for kind, name in found}
