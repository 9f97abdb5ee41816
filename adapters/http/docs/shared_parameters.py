"""Parameters that several operations take are described once in the document, and referred to."""

from collections.abc import Iterable
from typing import Any

import msgspec

Json = dict[str, Any]


def share_parameters(document: Json) -> None:
    """Moves parameters of two operations or more to the components.

    The meaning that a name has most often keeps the bare name, as ``page`` does; any other has the tag before it.
    """
    takers: dict[bytes, list[str]] = {}
    described: dict[bytes, Json] = {}
    for operation in _operations(document):
        for parameter in _shareable(operation):
            key = msgspec.json.encode(parameter)
            takers.setdefault(key, []).append(operation["tags"][0])
            described.setdefault(key, parameter)
    names = _names(described, {key: tags for key, tags in takers.items() if len(tags) > 1})
    for operation in _operations(document):
        for place, parameter in enumerate(operation.get("parameters", ())):
            name = names.get(msgspec.json.encode(parameter))
            if name is not None:
                operation["parameters"][place] = {"$ref": f"#/components/parameters/{name}"}
    shared = {name: described[key] for key, name in sorted(names.items(), key=lambda item: item[1])}
    document["components"].setdefault("parameters", {}).update(shared)


def _names(described: dict[bytes, Json], takers: dict[bytes, list[str]]) -> dict[bytes, str]:
    names: dict[bytes, str] = {}
    taken: set[str] = set()
    for key in sorted(takers, key=lambda key: -len(takers[key])):
        bare, tag = str(described[key]["name"]), takers[key][0]
        name = bare if len(set(takers[key])) > 1 and bare not in taken else f"{tag}.{bare}"
        number = 1
        while name in taken:
            number += 1
            name = f"{tag}.{bare}-{number}"
        taken.add(name)
        names[key] = name
    return names


def _operations(document: Json) -> Iterable[Json]:
    return (operation for item in document["paths"].values() for operation in item.values())


def _shareable(operation: Json) -> Iterable[Json]:
    parameters = operation.get("parameters", ()) if operation.get("tags") else ()
    return (parameter for parameter in parameters if parameter["in"] != "path")
