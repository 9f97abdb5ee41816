"""Requests made from the OpenAPI document: some would be taken, most have something wrong in one place or several."""

import json
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any
from urllib.parse import quote

from tests.http.fuzz import hostile_values as hostile
from tests.http.fuzz.raw_client import Hostile

Json = dict[str, Any]

BOUNDARY = "x-b"
METHODS = ("get", "post", "put", "patch", "delete")
OPERATORS = (
    "eq",
    "ne",
    "gt",
    "gte",
    "lt",
    "lte",
    "in",
    "nin",
    "contains",
    "startsWith",
    "endsWith",
    "isNull",
    "nothing",
)
OFFERED = {
    "format": ("csv", "json", "xlsx", "parquet"),
    "mode": ("upsert", "insert", "skip"),
    "include": ("category", "products", "reviews", "product"),
}
HEADERS = (
    "Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Content-Encoding", "Content-Type", "Cookie",
    "Expect", "Forwarded", "Idempotency-Key", "If-Match", "If-Modified-Since", "If-None-Match", "Origin", "Range",
    "Transfer-Encoding", "Upgrade", "X-App-Id", "X-Forwarded-For", "X-Forwarded-Host", "X-HTTP-Method-Override",
    "X-Request-Id", "X-Tenant-Scope", "traceparent",
)  # fmt: skip
PLAUSIBLE_HEADERS = {
    "Accept": ("application/json", "text/csv;q=0.5, */*;q=0", "text/csv;q=1e999", "*/*"),
    "Authorization": ("Bearer", "Bearer ", "Basic YTpi", "bearer a.b.c", "Bearer " + "A" * 5_000),
    "Content-Encoding": ("gzip", "identity", "br"),
    "Content-Type": ("application/json", "application/json; charset=utf-16", "text/plain", "multipart/form-data",
                     "multipart/form-data; boundary=", "application/x-www-form-urlencoded", ";", "a/b/c"),
    "If-Match": ("*", '"1"', 'W/"1"', '"1", "2"', '"', "1"),
    "If-None-Match": ("*", '"1"', 'W/"1"', ","),
    "Range": ("bytes=0-1", "bytes=5-1"),
    "Transfer-Encoding": ("chunked", "gzip, chunked"),
    "X-Tenant-Scope": ("all", "none", *hostile.IDS),
}  # fmt: skip


class Requests:
    """Draws requests for all operations of a document. ``ids`` are of rows and persons that exist."""

    def __init__(self, document: Json, ids: Sequence[str], chance: Random) -> None:
        self.document, self.chance = document, chance
        self.know(ids)
        self.operations = [
            (method, path, operation)
            for path, item in document["paths"].items()
            for method, operation in item.items()
            if method in METHODS
        ]

    def know(self, ids: Sequence[str]) -> None:
        """From now on, these are the ids of what exists."""
        self.ids = (*ids, *hostile.IDS)

    def draw(self, authorization: str | None) -> Hostile:
        method, path, operation = self.chance.choice(self.operations)
        parameters = [self._resolved(parameter) for parameter in operation.get("parameters", ())]
        headers = dict(self._headers(parameters))
        if authorization is not None and self.chance.random() < 0.93:
            headers["Authorization"] = authorization
        kind, body = self._body(operation)
        if kind is not None and self.chance.random() < 0.95:
            headers["Content-Type"] = kind
        if self.chance.random() < 0.02:
            method = self.chance.choice((*METHODS, "head", "options", "trace", "propfind"))
        target = self._path(path) + self._query(parameters)
        return Hostile(method.upper(), target, tuple(headers.items()), body)

    def _resolved(self, part: Json) -> Json:
        while "$ref" in part:
            kind, name = part["$ref"].split("/")[-2:]
            part = self.document["components"][kind][name]
        return part

    def _path(self, path: str) -> str:
        steps = [self._id() if step.startswith("{") else step for step in path.split("/")]
        if self.chance.random() < 0.03:
            steps.append(self.chance.choice(("", "..", "%2e%2e", "%", "%zz", "a" * 3_000)))
        return "/".join(steps)

    def _id(self) -> str:
        if self.chance.random() < 0.75:
            return self.chance.choice(self.ids)
        return quote(hostile.text(self.chance), "", errors="replace")

    def _query(self, parameters: Sequence[Json]) -> str:
        named = [parameter["name"] for parameter in parameters if parameter["in"] == "query"]
        pairs = []
        for _ in range(self.chance.choice((0, 0, 1, 1, 2, 3, 6)) if named else self.chance.choice((0, 0, 0, 1))):
            name = self.chance.choice(named or ["x"])
            if self.chance.random() < 0.3:
                name = f"{self.chance.choice(FIELDS)}.{self.chance.choice(OPERATORS)}"
            elif self.chance.random() < 0.1:
                name = hostile.text(self.chance)[:60]
            pairs.append(f"{_escaped(name)}={_escaped(self._query_value(name))}")
        if self.chance.random() < 0.02:
            pairs.append(self.chance.choice(("&&&", "=", "%", "a=%ff%fe", "[]=1", "+" * 50)))
        return "?" + "&".join(pairs) if pairs else ""

    def _query_value(self, name: str) -> str:
        if self.chance.random() < 0.35:
            return self.chance.choice((*OFFERED.get(name, ()), *FIELDS, "name:desc", "true", "1", "100", "exact"))
        return hostile.number(self.chance) if self.chance.random() < 0.3 else hostile.text(self.chance)

    def _headers(self, parameters: Sequence[Json]) -> Iterator[tuple[str, str]]:
        offered = [parameter["name"] for parameter in parameters if parameter["in"] == "header"]
        for name in (*offered, *HEADERS):
            if self.chance.random() < (0.25 if name in offered else 0.02):
                plausible = PLAUSIBLE_HEADERS.get(name)
                if plausible and self.chance.random() < 0.8:
                    yield name, self.chance.choice(plausible)
                else:
                    # a server refuses control characters in headers before anybody else sees them
                    yield name, "".join(letter for letter in hostile.text(self.chance) if " " <= letter <= "ÿ")[:8_000]

    def _body(self, operation: Json) -> tuple[str | None, bytes]:
        contents = self._resolved(operation.get("requestBody", {})).get("content", {})
        if not contents:
            return (
                (None, b"")
                if self.chance.random() < 0.9
                else ("application/json", hostile.json_value(self.chance).encode("utf-8", "replace"))
            )
        kind = next(iter(contents))
        if kind.startswith("multipart/"):
            return f"multipart/form-data; boundary={BOUNDARY}", self._file()
        if self.chance.random() < 0.03:
            return kind, hostile.nested(self.chance).encode()
        text = self._of(contents[kind].get("schema", {}))
        return kind, self._damaged(text.encode("utf-8", "surrogatepass"))

    def _of(self, schema: Json, depth: int = 0) -> str:
        """Text of a value that the schema takes, or nearly so."""
        schema = self._resolved(schema)
        for several in ("anyOf", "oneOf", "allOf"):
            if several in schema:
                return self._of(self.chance.choice(schema[several]), depth)
        if self.chance.random() < 0.12 or depth > 6:
            return hostile.json_value(self.chance)
        if "enum" in schema:
            return json.dumps(self.chance.choice(schema["enum"]))
        if schema.get("examples"):
            return json.dumps(self.chance.choice(schema["examples"]))
        return self._of_type(schema, depth)

    def _of_type(self, schema: Json, depth: int) -> str:
        kinds = schema.get("type", "object")
        kind = self.chance.choice(kinds) if isinstance(kinds, list) else kinds
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            items = [self._of(schema.get("items", {}), depth + 1) for _ in range(self.chance.choice((0, 1, 1, 2, 5)))]
            return f"[{','.join(items)}]"
        if kind in ("integer", "number"):
            return self.chance.choice((str(self.chance.randrange(10)), hostile.number(self.chance)))
        if kind in ("boolean", "null"):
            return {"boolean": self.chance.choice(("true", "false")), "null": "null"}[kind]
        return json.dumps(self._text(schema))

    def _text(self, schema: Json) -> str:
        plain = {
            "uuid": self.chance.choice(self.ids),
            "email": f"u{self.chance.randrange(50)}@example.com",
            "date-time": "2026-11-22T10:00:00Z",
            "date": "2026-11-22",
        }.get(schema.get("format", ""), f"Text {self.chance.randrange(1_000)}")
        return plain if self.chance.random() < 0.7 else hostile.text(self.chance)

    def _object(self, schema: Json, depth: int) -> str:
        properties: Mapping[str, Json] = schema.get("properties", {})
        required = schema.get("required", ())
        chosen = [name for name in properties if name in required or self.chance.random() < 0.5]
        pairs = [(name, self._of(properties[name], depth + 1)) for name in chosen if self.chance.random() < 0.97]
        if pairs and self.chance.random() < 0.04:
            pairs.append(self.chance.choice(pairs))
        if self.chance.random() < 0.05:
            pairs.append((hostile.text(self.chance)[:50], hostile.json_value(self.chance)))
        return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in pairs) + "}"

    def _damaged(self, body: bytes) -> bytes:
        kind = self.chance.random()
        if kind > 0.06 or not body:
            return body
        place = self.chance.randrange(len(body))
        if kind < 0.02:
            return body[:place]
        if kind < 0.04:
            return body[:place] + self.chance.choice((b"\xff", b"\x00", b"\xc3\x28", b'"', b"{")) + body[place:]
        return self.chance.choice(
            (b"\xef\xbb\xbf" + body, body.decode("utf-8", "replace").encode("utf-16"), b"", b" " * 99)
        )

    def _file(self) -> bytes:
        """The body of an upload: a table with wrong cells, or a form that is damaged itself."""
        columns = self.chance.sample(FIELDS, self.chance.randrange(1, 6))
        rows = [[hostile.text(self.chance)[:300] for _ in columns] for _ in range(self.chance.randrange(4))]
        lines = [",".join(columns), *map(",".join, rows)]
        content = "\n".join(lines).encode("utf-8", "surrogatepass")
        if self.chance.random() < 0.2:
            content = self.chance.choice((b"PK\x03\x04", b"PAR1", b"\xff\xfe", b"", b"\x00" * 100)) + content
        options = f'{{"mode":{hostile.json_value(self.chance)},"key":{json.dumps(self.chance.choice(FIELDS))}}}'
        parts = [
            (b'name="file"; filename="rows.csv"', content),
            (b'name="options"', options.encode("utf-8", "surrogatepass")),
        ]
        self.chance.shuffle(parts)
        pieces = []
        for disposition, value in parts[: self.chance.choice((1, 2, 2, 2))]:
            pieces += [b"--" + BOUNDARY.encode(), b"Content-Disposition: form-data; " + disposition, b"", value]
        return self._damaged(b"\r\n".join([*pieces, f"--{BOUNDARY}--".encode(), b""]))


FIELDS = (
    "id", "name", "sku", "price", "stock", "status", "categoryId", "releasedAt", "createdAt", "version", "rating",
    "code", "text", "isDeleted", "description", "nothing",
)  # fmt: skip


def _escaped(text: str) -> str:
    return quote(text, safe=",:", errors="replace")
