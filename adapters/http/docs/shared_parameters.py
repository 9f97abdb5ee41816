"""Parameters that several operations take are described once, and referred to."""

from collections.abc import Mapping, Sequence

import msgspec

from adapters.http.request.endpoint import Endpoint, Parameter

Json = dict[str, object]


class SharedParameters:
    """``components`` are those that two operations or more have.

    What one name means most often keeps the bare name, as ``page`` does; any other meaning has the tag before it.
    """

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._keys = {endpoint.operation: [_key(one) for one in endpoint.parameters] for endpoint in endpoints}
        takers: dict[bytes, list[str]] = {}
        described: dict[bytes, Json] = {}
        for endpoint in endpoints:
            for key, one in zip(self._keys[endpoint.operation], endpoint.parameters, strict=True):
                takers.setdefault(key, []).append(endpoint.tag)
                described.setdefault(key, _described(one))
        self._shown: dict[bytes, Json] = described | _references(described, takers)
        names = {key: str(self._shown[key]["$ref"]).rpartition("/")[2] for key in takers if len(takers[key]) > 1}
        self.components: Json = {names[key]: described[key] for key in sorted(names, key=names.__getitem__)}

    def of(self, endpoint: Endpoint) -> list[Json]:
        return [self._shown[key] for key in self._keys[endpoint.operation]]


def _references(described: Mapping[bytes, Json], takers: Mapping[bytes, list[str]]) -> dict[bytes, Json]:
    shared = [key for key in takers if len(takers[key]) > 1]
    taken: set[str] = set()
    references: dict[bytes, Json] = {}
    for key in sorted(shared, key=lambda one: -len(takers[one])):
        bare = str(described[key]["name"])
        name = bare if len(set(takers[key])) > 1 and bare not in taken else f"{takers[key][0]}.{bare}"
        number = 1
        while name in taken:
            number += 1
            name = f"{takers[key][0]}.{bare}-{number}"
        taken.add(name)
        references[key] = {"$ref": f"#/components/parameters/{name}"}
    return references


def _described(parameter: Parameter) -> Json:
    shown: Json = {"name": parameter.name, "in": parameter.place, "schema": parameter.schema}
    return shown | ({"description": parameter.description} if parameter.description else {})


def _key(one: Parameter) -> bytes:
    return msgspec.json.encode((one.name, one.place, one.schema, one.description))
