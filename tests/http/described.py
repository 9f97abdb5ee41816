"""Answers held against the OpenAPI document of the application that gave them."""

import json
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import httpx
import jsonschema_rs
from litestar import Litestar

from adapters.http.app import HttpSettings, build_app
from adapters.http.docs.served import finished
from adapters.http.use_cases import UseCases

Json = dict[str, Any]

UNDESCRIBED = (408, 500, 503)
"""Statuses of a body that did not come and of faults, which tests bring about in operations of all kinds."""
EVERYWHERE = (413, 415, 429)
"""Statuses that the response ``default`` tells of, beside those of faults."""


@dataclass(frozen=True)
class Description:
    """The document of an application, as what its answers must keep to.

    ``seen`` has the id and the status of every answer that was held against it.
    """

    application: Litestar
    seen: set[tuple[str, int]] = field(default_factory=set)

    async def hold(self, response: httpx.Response) -> None:
        """Raises AssertionError for an answer that the document does not tell."""
        operation = self._operation(response.request.method, response.request.url.path)
        if operation is None or response.status_code in UNDESCRIBED or _is_undescribed(response.request, operation):
            return
        await response.aread()
        asked = f"{response.request.method} {response.request.url} → {response.status_code}"
        responses = operation["responses"]
        default = responses.get("default") if response.status_code in EVERYWHERE else None
        described = self._resolved(responses.get(str(response.status_code), default))
        assert described is not None, f"{asked} is not described: {response.text[:500]}"
        self.seen.add((operation["operationId"], response.status_code))
        self._hold_headers(asked, response, described)
        self._hold_body(asked, response, described)

    def _hold_headers(self, asked: str, response: httpx.Response, described: Json) -> None:
        told = {name.lower() for name in described.get("headers", {})}
        own = {name for name in response.headers if name in _TOLD}
        assert own <= told, f"{asked} has headers that are not described: {own - told}"
        # What was made says where it can be read, in both areas.
        assert response.status_code != 201 or "location" in own, f"{asked} has no Location"
        place = response.headers.get("location", "").removeprefix(self.document["servers"][0]["url"].rstrip("/"))
        assert response.status_code != 201 or self._operation("GET", place), (
            f"{asked} leads to {place}, which no GET reads"
        )

    def _hold_body(self, asked: str, response: httpx.Response, described: Json) -> None:
        contents = described.get("content", {})
        if not response.content:
            is_empty_file = bool({"text/csv", "application/octet-stream"} & contents.keys())
            assert is_empty_file or not contents, f"{asked} has no body, and {list(contents)} is described"
            return
        kind = response.headers["content-type"].partition(";")[0]
        assert kind in contents, f"{asked} is {kind}, and {list(contents)} is described"
        if kind == "application/json":
            errors = list(self._validator(json.dumps(contents[kind]["schema"])).iter_errors(response.json()))
            assert not errors, f"{asked} {response.text[:500]}\n" + "\n".join(str(error) for error in errors[:3])

    @cached_property
    def document(self) -> Json:
        made: Json = json.loads(json.dumps(finished(self.application.openapi_schema.to_schema())))
        return made

    @cached_property
    def _paths(self) -> list[tuple[re.Pattern[str], Json]]:
        """Fixed paths before those with a placeholder."""
        paths = sorted(self.document["paths"].items(), key=lambda item: item[0].count("{"))
        return [(re.compile(re.sub(r"{\w+}", "[^/]+", path) + "/?"), item) for path, item in paths]

    @cached_property
    def _validators(self) -> dict[str, jsonschema_rs.Draft202012Validator]:
        return {}

    def _validator(self, schema: str) -> jsonschema_rs.Draft202012Validator:
        if schema not in self._validators:
            whole = strict({**json.loads(schema), "components": self.document["components"]})
            self._validators[schema] = jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
        return self._validators[schema]

    def _operation(self, method: str, path: str) -> Json | None:
        found = (item for pattern, item in self._paths if pattern.fullmatch(path))
        operation: Json | None = next(found, {}).get(method.lower())
        return operation

    def _resolved(self, described: Json | None) -> Json | None:
        if described is None or "$ref" not in described:
            return described
        kind, name = described["$ref"].split("/")[-2:]
        resolved: Json = self.document["components"][kind][name]
        return resolved


def strict(schema: Any) -> Any:
    """The schema, which refuses members that it does not describe.

    Each schema with ``properties`` gets ``additionalProperties: false``, unless it says something else about further
    members. Names in ``properties`` are not keywords, and values such as examples are not schemas.
    """
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    assert "allOf" not in schema, "parts of a whole do not know each other's members: write unevaluatedProperties"
    made = {name: part if name in _NO_SCHEMAS else strict(part) for name, part in schema.items()}
    for name in _MAPS & made.keys():
        made[name] = {key: strict(part) for key, part in schema[name].items()}
    if "properties" in made:
        made.setdefault("additionalProperties", False)
    return made


_NO_SCHEMAS = frozenset(["const", "default", "enum", "example", "examples", "required"])
_MAPS = frozenset(["properties", "patternProperties", "$defs"])


def _is_undescribed(request: httpx.Request, operation: Json) -> bool:
    """Whether the request has a header that the description does not offer: no client made from it would send that."""
    takes_scope = any(
        parameter.get("$ref", "").endswith("X-Tenant-Scope") for parameter in operation.get("parameters", ())
    )
    return "X-Tenant-Scope" in request.headers and not takes_scope


_TOLD = frozenset(["etag", "location", "idempotent-replayed", "retry-after", "www-authenticate"])
"""Headers with a meaning for clients, which the document has to name."""


_MADE: dict[object, Description] = {}


def described(services: UseCases, settings: HttpSettings) -> Description:
    """The description of an application without routes of a user's own, who says of those what they please.

    It hangs on the entities and the path of the public address alone, and takes a tenth of a second.
    """
    kinds = (settings.console.prefix, *(model.struct for model in services.registry))
    if kinds not in _MADE:
        _MADE[kinds] = Description(build_app(services, replace(settings, routes=())))
    return _MADE[kinds]
