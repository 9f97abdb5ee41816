"""SQL of a dozen queries: a reviewer sees in the diff what a change of the engine asks of the server.

``TENANTRY_TEST_GOLDEN=write`` writes it anew.
"""

import os
import re
from pathlib import Path
from urllib.parse import parse_qsl
from uuid import UUID

from adapters.postgres.entities.reading.narrowing import Searches, narrowing
from adapters.postgres.entities.reading.rows import Shape
from adapters.postgres.entities.reading.select import get_shape, page_shape
from adapters.postgres.entities.reading.select_rows import count_statement, get_statement, page_statement
from domain.entities.declaration import Registry
from domain.entities.query.cursors import write_cursor
from domain.entities.query.query import Query, View
from domain.entities.query.read_query import read_query
from domain.entities.registry import build_registry
from domain.scope import EveryTenant, OneTenant, OwnRows, Scope
from tests.contracts.entities.attachments.entities import REGISTRY as HOLDING
from tests.linked_entities import REGISTRY as LINKED
from tests.twins.everything import OWNED

GOLDEN = Path(__file__).with_name("select.sql")
TENANT = OneTenant(UUID(int=1))

QUERIES: list[tuple[str, str, Scope]] = [
    ("reviews", "", TENANT),
    ("reviews", "", EveryTenant()),
    ("currencies", "sort=code&page=100&pageSize=100", TENANT),
    ("reviews", "page=100&pageSize=100&fields=rating", TENANT),
    ("products", "minPrice=1&createdBefore=2026-01-01&status=draft,live&name.contains=a&fields=name", TENANT),
    ("categories", "name=books&name.in=a,b&description.isNull=true&includeDeleted=true", TENANT),
    ("products", "search=red lamp&fields=name", TENANT),
    ("products", "category.name=a&reviews.rating.gte=4&reviews.author.ne=Bob&fields=name", TENANT),
    ("products", "sort=category.name:desc,price&fields=name", TENANT),
    ("products", "sort=category.name:desc,price&fields=name", EveryTenant()),
    ("reviews", "include=product.category&fields=rating", TENANT),
    ("categories", "include=products.reviews&fields=name", TENANT),
    ("categories", "include=products&fields=name", EveryTenant()),
    ("applications", "sort=name&fields=name", TENANT),
]


def test_the_text_of_a_query_is_known(registry: Registry) -> None:
    made = [*_rows(registry), *_pages(registry), *_cursors(registry), *_totals(registry), *_searches(registry)]
    made += [*_own_rows(), *_links()]
    text = "\n\n".join(made) + "\n"
    if os.environ.get("TENANTRY_TEST_GOLDEN") == "write":
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def test_a_statement_depends_only_on_the_shape_of_the_query(registry: Registry) -> None:
    """Queries with other values, and with more of them, are one statement; so caches stay small."""
    texts = {
        page_statement(registry, registry["products"], _shape(registry, "products", given, TENANT)).text
        for given in (
            "sku=a,b&page=2&search=x",
            "sku=a,b,c,d&page=3&pageSize=7&search=%25&count=exact",
            "SKU.in=q&search=y",
        )
    }
    assert len(texts) == 1


def _query(registry: Registry, plural: str, asked: str) -> Query:
    return read_query(registry[plural], registry, frozenset(), parse_qsl(asked))


def _shape(registry: Registry, plural: str, asked: str, scope: Scope) -> Shape:
    return page_shape(scope, _query(registry, plural, asked))


def _pages(registry: Registry) -> list[str]:
    return [
        _titled(
            f"{plural}?{asked} of {scope}",
            page_statement(registry, registry[plural], _shape(registry, plural, asked, scope)).text,
        )
        for plural, asked, scope in QUERIES
    ]


def _rows(registry: Registry) -> list[str]:
    view = View(fields=("id", "price"), include=(("category",),))
    shape = Shape(reach=_shape(registry, "products", "", TENANT).reach, view=view, where=(), words=0)
    text = get_statement(registry, registry["products"], shape).text
    return [_titled("products/{id}?fields=price&include=category", text)]


def _totals(registry: Registry) -> list[str]:
    shape = _shape(registry, "products", "category.name=a&search=lamp", TENANT)
    return [
        _titled(
            "the total of products?category.name=a&search=lamp",
            count_statement(registry, registry["products"], shape).text,
        )
    ]


def cursor_queries(registry: Registry) -> list[tuple[str, str]]:
    """Return entities with queries after a cursor: in an order of plain columns, and in one with a null in it."""
    made: list[tuple[str, str]] = []
    for plural, asked, last in (
        ("reviews", "sort=createdAt:desc&fields=rating", ["2026-01-01T00:00:00Z", UUID(int=1)]),
        ("products", "sort=category.name,price:desc&fields=name", [None, 1, UUID(int=1)]),
    ):
        cursor = write_cursor(_query(registry, plural, asked).sort, last)
        made.append((plural, f"{asked}&cursor={cursor}"))
    return made


def _cursors(registry: Registry) -> list[str]:
    made = []
    for plural, asked in cursor_queries(registry):
        shape = _shape(registry, plural, asked, TENANT)
        title = f"{plural}?{asked.partition('&cursor=')[0]}&cursor=…"
        made.append(_titled(title, page_statement(registry, registry[plural], shape).text))
    return made


def _searches(registry: Registry) -> list[str]:
    """With an index of every field that is searched, and of one field; a count compares only several words."""
    model = registry["products"]
    searches = Searches(frozenset((model.table, field) for field in model.declaration.search))
    made = []
    for asked in (
        "search=lamp&fields=name",
        "search=red lamp&fields=name",
        "search=red lamp&fields=name&count=none",
        "name.contains=lamp&fields=name&count=none",
    ):
        query = _query(registry, "products", asked)
        shape = page_shape(TENANT, query, narrowing(model, query, searches))
        made.append(_titled(f"products?{asked} with an index", page_statement(registry, model, shape).text))
    return made


def _own_rows() -> list[str]:
    """A page, a filter through a relation, and a row, of a caller limited to own rows."""
    registry = build_registry(OWNED)
    scope = OwnRows(UUID(int=1), user_id=UUID(int=2), sees=frozenset({"tasks"}), touches=frozenset({"delete:tasks"}))
    asked = ("fields=title&count=none&includeDeleted=true", "subtasks.title=a&fields=title&count=none")
    shapes = [(each, _shape(registry, "tasks", each, scope)) for each in asked]
    pages = [
        _titled(f"own tasks?{each}", page_statement(registry, registry["tasks"], shape).text) for each, shape in shapes
    ]
    row = get_statement(registry, registry["tasks"], get_shape(scope, View(fields=("id", "title"))))
    return [*pages, _titled("own tasks/{id}?fields=title", row.text)]


def _links() -> list[str]:
    """A page and a row with links: few targets may be read once for the page, and files are not read."""
    fields = View(fields=("id", "tag_ids"))
    page = page_statement(LINKED, LINKED["bundles"], _shape(LINKED, "bundles", "fields=tagIds&count=none", TENANT))
    row = get_statement(LINKED, LINKED["bundles"], get_shape(TENANT, fields))
    files = page_statement(HOLDING, HOLDING["items"], _shape(HOLDING, "items", "fields=planIds&count=none", TENANT))
    return [
        _titled("bundles?fields=tagIds&count=none", page.text),
        _titled("bundles/{id}?fields=tagIds", row.text),
        _titled("items?fields=planIds&count=none", files.text),
    ]


def _titled(title: str, text: str) -> str:
    in_one_line = re.sub(r"\s+", " ", text)
    return f"-- {title}\n" + re.sub(r" (FROM|WHERE|ORDER BY|LIMIT|LEFT OUTER JOIN|JOIN|AND) ", r"\n\1 ", in_one_line)
