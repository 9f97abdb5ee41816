"""The inventories name all that the code has: data, ways in, keys and algorithms, connections."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from litestar.handlers import BaseRouteHandler
from litestar.routes import BaseRoute, HTTPRoute

from adapters.http.request.rules import RULES
from domain.parts.composition import RETENTION
from domain.retention import RetentionRule
from entrypoints.server.plugin import Service
from entrypoints.settings.settings import read_settings
from entrypoints.testing.app import MEMORY, SECRET_KEY
from tests.documentation.documents import chapter
from tools.reference.data_page import levelled, stored
from tools.reference.sources import ROOT

LAYERS = ("domain", "application", "adapters", "entrypoints", "tenantry")
CRYPTOGRAPHY = {"cryptography", "joserfc", "argon2", "bcrypt", "hmac", "fido2", "ssl"}
NETWORKS = {
    "asyncpg",
    "redis",
    "aiosmtplib",
    "httpcore2",
    "httpx",
    "httpx2",
    "granian",
    "smtplib",
    "urllib.request",
    "http.client",
}
"""Packages whose import makes a file one of the inventory's. ``hashlib`` also names files and shapes: it is no sign."""


WITHOUT_TOKENS = {
    *(f"console.{name}" for name in ("page", "file", "sign-out")),
    *(f"account.{name}" for name in ("asset", "confirm", "invitation", "login", "register", "reset", "security")),
    "account.social-start",
}
"""Operations outside the document that give no token: pages, files, and the ways to a provider and out."""


def importing(packages: set[str]) -> Iterator[str]:
    for folder in LAYERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if packages & imported(path):
                yield str(path.relative_to(ROOT))


@cache
def imported(path: Path) -> frozenset[str]:
    """Modules, whole and by their first name, wherever in the file they are imported."""
    return frozenset(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        for name in names:
            yield from (name, name.partition(".")[0])


def named_in(page: str, title: str) -> set[str]:
    return set(re.findall(r"`((?:domain|application|adapters|entrypoints)/[\w/.]+)`", chapter(page, title)))


def test_every_column_has_one_level_of_protection() -> None:
    given = Counter(levelled())
    there = {(name, column) for name, columns in stored().items() for column in columns}
    assert [place for place, count in given.items() if count > 1] == []
    assert there - given.keys() == set(), "`tables` in domain/parts has to say how these are protected"
    assert given.keys() - there == set(), "`tables` in domain/parts names columns that are gone"


@pytest.mark.parametrize("rule", RETENTION, ids=lambda rule: rule.name)
def test_a_retention_rule_names_the_days_that_it_uses(rule: RetentionRule) -> None:
    named = re.match(r"(\d+) days", rule.when)
    assert named is None or timedelta(days=int(named[1])) == rule.kept


def test_every_file_with_cryptography_is_in_the_inventory() -> None:
    missing = set(importing(CRYPTOGRAPHY)) - named_in("security.md", "Keys and algorithms")
    assert missing == set(), "docs/security.md has to name them, with what they are for"


def test_every_file_with_a_network_belongs_to_a_connection() -> None:
    named = named_in("scale.md", "Connections")
    missing = [path for path in importing(NETWORKS) if not any(path.startswith(place) for place in named)]
    assert missing == [], "docs/scale.md has to name them, with whom they talk to"


def test_every_operation_that_answers_a_token_is_a_way_in() -> None:
    listed = set(re.findall(r"`([a-z]+\.[a-z-]+)`", chapter("security.md", "Ways in")))
    app = Service(read_settings({"TENANTRY_SECRET_KEY": SECRET_KEY}), runtime=MEMORY).application()
    names = {handler.opt[RULES].operation for route in app.routes for handler in handlers_of(route)}
    by_id = {"".join(word[:1].upper() + word[1:] for word in re.split(r"[.-]", name)).lower(): name for name in names}
    answering = {by_id[operation.lower()] for operation in token_operations(app.openapi_schema.to_schema())}
    beside_the_document = {name for name in names if name.startswith(("console.", "account."))} - WITHOUT_TOKENS
    assert answering | beside_the_document == listed, "docs/security.md has to name each, with what guards it"


def handlers_of(route: BaseRoute) -> Iterator[BaseRouteHandler]:
    assert isinstance(route, HTTPRoute)
    yield from (handler for handler in route.route_handlers if RULES in handler.opt)


def token_operations(document: Any) -> Iterator[str]:
    """Ids of the operations that answer with an access token, by the schemas of their good answers."""
    for path in document["paths"].values():
        for operation in path.values():
            good = [answer for status, answer in operation.get("responses", {}).items() if status.startswith("2")]
            if any(has_token(answer, document) for answer in good):
                yield operation["operationId"]


def has_token(schema: Any, document: Any, seen: tuple[str, ...] = ()) -> bool:
    if isinstance(schema, list):
        return any(has_token(part, document, seen) for part in schema)
    if not isinstance(schema, dict):
        return False
    if isinstance(reference := schema.get("$ref"), str):
        place = document
        for step in reference.split("/")[1:]:
            place = place[step]
        return reference not in seen and has_token(place, document, (*seen, reference))
    properties = schema.get("properties")
    named = isinstance(properties, dict) and {"token", "access_token"} & properties.keys()
    return bool(named) or any(has_token(part, document, seen) for part in schema.values())
