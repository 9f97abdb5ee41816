"""The query grammar, with a row for each sentence of the decisions on querying."""

from contextvars import Context
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated
from urllib.parse import parse_qsl
from uuid import UUID

import pytest
from msgspec import defstruct

from domain.entities.declaration import Registry
from domain.entities.markers import entity, ref
from domain.entities.query.kinds import QUERY_KINDS
from domain.entities.query.query import Condition, Count, Operator, Path, Query, SortKey, entities_read
from domain.entities.query.read_query import MAX_WORDS, read_export, read_query, read_view
from domain.entities.registry import build_registry
from domain.errors import ValidationError
from domain.scope import Rights
from tests.twins.everything import DECLARED

EVERY_KIND = build_registry(DECLARED)
SEEN, HIDDEN = (EVERY_KIND.hidden_from(Rights((held,), is_super_admin=False)) for held in ("*", "read:things"))


def asked(text: str, registry: Registry, plural: str = "products") -> Query:
    return read_query(registry[plural], registry, frozenset(), parse_qsl(text, keep_blank_values=True))


def of_things(text: str) -> Query:
    return read_query(EVERY_KIND["things"], EVERY_KIND, SEEN, parse_qsl(text, keep_blank_values=True))


def condition(name: str, operator: Operator, value: object) -> Condition:
    *steps, field = name.split(".")
    return Condition(Path(tuple(steps), field), operator, value)


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.promise("entities, contract: Filters: simple, range, several values, dotted, field-specific")
@pytest.mark.promise("entities, details: the operators, by type")
@pytest.mark.parametrize(
    ("text", "name", "operator", "value"),
    [
        ("name=Lamp", "name", Operator.EQ, "Lamp"),
        ("NAME=Lamp", "name", Operator.EQ, "Lamp"),
        ("name=", "name", Operator.EQ, ""),
        ("name=a,b", "name", Operator.IN, ("a", "b")),
        ('name="Smith, John",Doe', "name", Operator.IN, ("Smith, John", "Doe")),
        ('name="say ""hi"""', "name", Operator.EQ, 'say "hi"'),
        ('name=5" pipe', "name", Operator.EQ, '5" pipe'),
        ("name.eq=a,b", "name", Operator.EQ, "a,b"),
        ("name.in=a", "name", Operator.IN, ("a",)),
        ("name.contains=100%", "name", Operator.CONTAINS, "100%"),
        ("name.STARTSWITH=a", "name", Operator.STARTS_WITH, "a"),
        ("name.endsWith=a,b", "name", Operator.ENDS_WITH, "a,b"),
        ("price=1.50", "price", Operator.EQ, Decimal("1.50")),
        ("price.ne=1", "price", Operator.NE, Decimal(1)),
        ("price.gt=1e2", "price", Operator.GT, Decimal(100)),
        ("minPrice=-3", "price", Operator.GTE, Decimal(-3)),
        ("maxprice=3", "price", Operator.LTE, Decimal(3)),
        ("stock.lt=5", "stock", Operator.LT, 5),
        ("status=draft,live", "status", Operator.IN, ("draft", "live")),
        ("categoryId.isNull=TRUE", "category_id", Operator.IS_NULL, True),
        ("createdAfter=2026-01-01", "created_at", Operator.GTE, MIDNIGHT),
        ("createdBefore=2026-01-01T13:00:00%2B01:00", "created_at", Operator.LT, NOON),
        ("createdBefore=2026-01-01T13:00:00+01:00", "created_at", Operator.LT, NOON),
        ("created.gt=2026-01-01T12:00Z", "created_at", Operator.GT, NOON),
        ("releasedAtAfter=2026-01-01T12:00:00Z", "released_at", Operator.GTE, NOON),
        ("updatedAt.lte=2026-01-01", "updated_at", Operator.LTE, MIDNIGHT),
        ("category.name=a", "category.name", Operator.EQ, "a"),
        ("Category.Name.contains=a", "category.name", Operator.CONTAINS, "a"),
        ("reviews.minRating=4", "reviews.rating", Operator.GTE, 4),
        ("reviews.product.category.name=a", "reviews.product.category.name", Operator.EQ, "a"),
        ("id=00000000-0000-0000-0000-00000000000A", "id", Operator.EQ, UUID(int=10)),
        ("isDeleted=false", "is_deleted", Operator.EQ, False),
    ],
)
def test_a_filter_is_a_condition(registry: Registry, text: str, name: str, operator: Operator, value: object) -> None:
    assert asked(text, registry).where == (condition(name, operator, value),)


@pytest.mark.promise("entities, contract: Filters: simple, range, several values, dotted, field-specific")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("dayAfter=2026-01-01", date(2026, 1, 1)),
        ("dayAfter=2026-01-01T00:00:00.000001Z", date(2026, 1, 2)),
        ("dayBefore=2026-01-01T12:00:00Z", date(2026, 1, 2)),
        ("minDay=2026-01-01", date(2026, 1, 1)),
        ("total.gt=9223372036854775807", 2**63 - 1),
        ("ratio=1e-3", 0.001),
        ("isOpen=True", True),
        ("size=m", "m"),
    ],
)
def test_values_have_the_type_of_their_field(text: str, value: object) -> None:
    assert [condition.value for condition in of_things(text).where] == [value]


@pytest.mark.promise("entities, details: unknown parameters and parameters given twice are named, with a hint")
@pytest.mark.parametrize(
    ("text", "names", "hint"),
    [
        ("prise=3", ["prise"], "did you mean 'price'?"),
        ("pagesiz=3", ["pagesiz"], "did you mean 'pageSize'?"),
        ("category.nam=a", ["category.nam"], "did you mean 'category.name'?"),
        ("categry.name=a", ["categry.name"], "did you mean 'category'?"),
        ("releasedAfter=2026-01-01", ["releasedAfter"], "did you mean 'releasedAtAfter'?"),
        ("createdAftr=2026-01-01", ["createdAftr"], "did you mean 'createdAfter'?"),
        ("category=a", ["category"], "category.id"),
        ("price.contains=3", ["price.contains"], "eq, ne, in, isNull, gt, gte, lt, lte"),
        ("price.like=3", ["price.like"], "has no operator 'like'"),
        ("minPrice.eq=3", ["minPrice.eq"], "does not accept an operator"),
        ("minName=a", ["minName"], "is not known"),
        (
            "reviews.product.category.products.name=a",
            ["reviews.product.category.products.name"],
            "more than 3 relations",
        ),
        ("name.contains=", ["name.contains"], "must be a text of at least one character"),
        ("name=%00", ["name"], "no text can hold"),
        ('name="a', ["name"], "does not end"),
        ("status=", ["status"], "must be one of: draft, live, retired"),
        ("status=draft,sold", ["status"], "must be one of: draft, live, retired; 'sold' is not (use .eq or .in"),
        ("status=sold", ["status"], "'sold' is not"),
        ("status=DRAFT,live", ["status"], "'DRAFT' is not"),
        (f"status={'x' * 50}", ["status"], f"'{'x' * 40}…' is not"),
        ("price=", ["price"], "must be a number"),
        ("price=NaN", ["price"], "must be a number"),
        ("price=1_0", ["price"], "must be a number"),
        ("stock=1.5", ["stock"], "must be a whole number"),
        ("stock=2147483648", ["stock"], "from -2147483648 to 2147483647"),
        ("stock=" + "9" * 5000, ["stock"], "must be a whole number"),
        ("isDeleted=1", ["isDeleted"], "must be true or false"),
        ("id=1", ["id"], "must be an id"),
        ("createdAfter=2026-02-30", ["createdAfter"], "is not a valid date or time"),
        ("createdAfter=2026-01-01T00:00:00", ["createdAfter"], "with a zone"),
        ("createdAfter=0001-01-01T00:00:00%2B14:00", ["createdAfter"], "between the years 1 and 9999"),
        ("page=0", ["page"], "from 1"),
        ("page=x", ["page"], "from 1"),
        ("page=", ["page"], "from 1"),
        ("page=１", ["page"], "from 1"),
        ("pageSize=0", ["pageSize"], "from 1"),
        ("pageSize=-5", ["pageSize"], "from 1"),
        ("page=1&page=2", ["page"], "is given twice"),
        ("Page=1&page=2", ["page"], "is given twice"),
        ("name=a&name=b", ["name"], "is given twice"),
        ("page=2&cursor=a", ["page"], "together with cursor"),
        ("sort=name&sortBy=name", ["sortBy"], "together with sort"),
        ("sort=name&sortDirection=asc", ["sortDirection"], "together with sort"),
        ("sortBy=name&sortDirection=asc&sortOrder=asc", ["sortOrder"], "combined with sortDirection"),
        ("sortDirection=up", ["sortDirection"], "must be one of: asc, ascending, desc, descending"),
        ("sort=name:up", ["sort"], "must be one of: asc, ascending, desc, descending"),
        ("sort=nam", ["sort"], "did you mean 'name'?"),
        ("sort=-name", ["sort"], "'-name' is not known: the direction follows the name, as in 'name:desc'"),
        ("sort=reviews.rating", ["sort"], "several rows"),
        ("sort=", ["sort"], "is not known"),
        ("sort=name,name:desc", ["sort"], "twice"),
        ("sort=id,name,price,stock,status,sku", ["sort"], "at most 5 keys"),
        ("include=categories", ["include"], "did you mean 'category'?"),
        ("include=category.products.category.products", ["include"], "deeper than 3"),
        ("fields=name,pric", ["fields"], "did you mean 'price'?"),
        ("fields=category.name", ["fields"], "is not known"),
        ("count=all", ["count"], "must be one of: exact, estimated, none"),
        ("includeDeleted=yes", ["includeDeleted"], "must be true or false"),
        ("format=csv", ["format"], "is not taken here"),
        ("page=0&prise=1&sort=x", ["prise", "sort", "page"], ""),
    ],
)
def test_a_mistake_names_its_parameter(registry: Registry, text: str, names: list[str], hint: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Context().run(asked, text, registry)  # without the bound on hints of an earlier request
    assert [detail.field for detail in raised.value.fields] == names
    assert hint in raised.value.fields[0].message


def test_a_sort_by_five_keys_is_accepted(registry: Registry) -> None:
    keys = asked("sort=name,price,stock,status,sku", registry).sort
    assert [key.path.field for key in keys] == ["name", "price", "stock", "status", "sku", "id"]


@pytest.mark.promise("entities, details: at most 30 conditions of 200 values, 3 steps deep")
def test_there_are_at_most_30_conditions_of_200_values_each(registry: Registry) -> None:
    names = ["name", "sku", "stock", "price"]
    operators = ["gt", "gte", "lt", "lte", "ne", "eq", "in", ""]
    filters = [f"{name}.{operator}".rstrip(".") + "=1" for name in names for operator in operators]
    assert len(asked("&".join(filters[:30]), registry).where) == 30
    with pytest.raises(ValidationError, match="not valid") as raised:
        asked("&".join(filters[:31]), registry)
    assert [detail.field for detail in raised.value.fields] == [filters[30].partition("=")[0]]
    values = asked("name=" + ",".join("a" * 200), registry).where[0].value
    assert isinstance(values, tuple)
    assert len(values) == 200
    with pytest.raises(ValidationError):
        asked("name=" + ",".join("a" * 201), registry)


def test_filters_in_another_order_are_the_same_query(registry: Registry) -> None:
    filters = ["name=a", "minPrice=1", "price.gt=2", "reviews.rating=3", "category.name=b", "reviews.author.ne=c"]
    texts = ["&".join(filters[place:] + filters[:place]) for place in range(len(filters))]
    assert len({asked(text, registry).where for text in texts}) == 1
    assert len({asked(text, registry).where for text in ("price.gte=1&minPrice=2", "minPrice=2&price.gte=1")}) == 2


def test_filters_lead_through_at_most_30_relations(registry: Registry) -> None:
    references = [(f"r{n}_id", Annotated[UUID | None, ref("nodes")], None) for n in range(10)]
    node = defstruct("Node", [("name", str), *references], rename="camel", kw_only=True, module=__name__)
    nodes = build_registry([entity("nodes")(node)])
    ways = [f"r{n}.r{n}.r{n}.name=a" for n in range(10)]
    assert len(asked("&".join(ways), nodes, "nodes").where) == 10
    shared = [f"r{n}.r{n}.name.{operator}=a" for n in range(10) for operator in ("gt", "lt")]
    assert len(asked("&".join([*ways, *shared]), nodes, "nodes").where) == 30
    with pytest.raises(ValidationError) as raised:
        asked("&".join([*ways, "r1.r2.name=a", "name=b"]), nodes, "nodes")
    (wrong,) = raised.value.fields
    assert (wrong.field, "31 relations" in wrong.message, "at most 30" in wrong.message) == ("r1.r2.name", True, True)


def keys(*names: str) -> tuple[SortKey, ...]:
    ways = [(name.removeprefix("-").split("."), name.startswith("-")) for name in names]
    return tuple(SortKey(Path(tuple(steps[:-1]), steps[-1]), descending) for steps, descending in ways)


@pytest.mark.promise("entities, contract: sortBy, sortDirection, sortOrder, sort")
@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("", ["-created_at", "-id"]),
        ("sortDirection=Ascending", ["created_at", "id"]),
        ("sortOrder=ASC", ["created_at", "id"]),
        ("sortBy=name", ["-name", "-id"]),
        ("sortBy=CreatedAt&sortDirection=asc", ["created_at", "id"]),
        ("sortBy=created&sortOrder=desc", ["-created_at", "-id"]),
        ("sort=name", ["name", "id"]),
        ("sort=price:desc", ["-price", "-id"]),
        ("sort=Price:DESCENDING,name:Asc", ["-price", "name", "id"]),
        ("sort=category.name:desc", ["-category.name", "-id"]),
        ("sort=name,id:desc", ["name", "-id"]),
        ("sortby=category.name", ["-category.name", "-id"]),
    ],
)
def test_the_order_ends_with_the_id(registry: Registry, text: str, order: list[str]) -> None:
    assert asked(text, registry).sort == keys(*order)


@pytest.mark.promise("entities, contract: Page, pageSize: defaults and maximum")
@pytest.mark.parametrize(
    ("text", "page", "page_size"),
    [
        ("", 1, 20),
        ("page=3", 3, 20),
        ("pageSize=100", 1, 100),
        ("pagesize=101", 1, 100),
        ("PageSize=" + "9" * 99, 1, 100),
    ],
)
def test_pages_have_up_to_100_rows(registry: Registry, text: str, page: int, page_size: int) -> None:
    assert (asked(text, registry).page, asked(text, registry).page_size) == (page, page_size)


@pytest.mark.parametrize(
    ("text", "include"),
    [
        ("include=category", [("category",)]),
        ("include=Category, reviews", [("category",), ("reviews",)]),
        (
            "include=reviews.product.category",
            [("reviews",), ("reviews", "product"), ("reviews", "product", "category")],
        ),
    ],
)
def test_an_include_brings_the_relations_on_its_way(
    registry: Registry, text: str, include: list[tuple[str, ...]]
) -> None:
    assert asked(text, registry).view.include == tuple(include)


@pytest.mark.promise("entities, contract: search")
def test_search_is_words(registry: Registry) -> None:
    assert asked("search= red  lamp red ", registry).search == ("red", "lamp")
    assert asked("search=", registry).search == ()
    assert asked("search=", registry, "reviews").search == ()
    with pytest.raises(ValidationError):
        asked("search=a", registry, "reviews")


def test_a_search_has_so_many_words_and_no_more(registry: Registry) -> None:
    words = " ".join(f"w{number}" for number in range(MAX_WORDS))
    assert asked(f"search={words}", registry).search == tuple(words.split())
    with pytest.raises(ValidationError):
        asked(f"search={words} more", registry)


@pytest.mark.promise("entities, details: fields, cursor")
def test_fields_always_bring_the_id(registry: Registry) -> None:
    assert asked("fields=Price,name", registry).view.fields == ("id", "name", "price")


def test_a_count_is_exact_unless_it_is_said(registry: Registry) -> None:
    assert asked("", registry).count is Count.EXACT
    assert asked("count=none", registry).count is Count.NONE


@pytest.mark.promise("entities, contract: includeDeleted")
def test_deleted_rows_are_asked_for_only_where_there_are_some(registry: Registry) -> None:
    assert asked("includeDeleted=true", registry).view.include_deleted
    with pytest.raises(ValidationError):
        asked("includeDeleted=false", registry, "currencies")


def test_an_entity_without_write_routes_has_its_own_order(registry: Registry) -> None:
    assert asked("", registry, "audit-events").sort == keys("-occurred_at", "-id")
    with pytest.raises(ValidationError):
        asked("createdAfter=2026-01-01", registry, "audit-events")


def test_relations_that_are_read_are_known(registry: Registry) -> None:
    query = asked("include=reviews&category.name=a&sort=category.name", registry)
    assert entities_read(registry["products"], registry, query) == {"reviews", "categories"}
    assert entities_read(registry["products"], registry, query.view) == {"reviews"}
    assert entities_read(registry["products"], registry, asked("name=a", registry)) == set()


@pytest.mark.promise("GET /api/{entities}/{id}: with include")
@pytest.mark.parametrize("text", ["page=1", "name=a", "sort=name", "search=a", "format=csv"])
def test_reading_one_row_refuses_list_parameters(registry: Registry, text: str) -> None:
    with pytest.raises(ValidationError):
        read_view(registry["products"], registry, frozenset(), parse_qsl(text))


@pytest.mark.parametrize("text", ["page=1", "pageSize=10", "cursor=a", "count=none", "include=reviews"])
def test_an_export_refuses_pages_and_included_collections(registry: Registry, text: str) -> None:
    with pytest.raises(ValidationError):
        read_export(registry["products"], registry, frozenset(), parse_qsl(text))


def test_an_export_accepts_filters_and_ignores_its_format(registry: Registry) -> None:
    given = parse_qsl("format=csv&bom=true&minPrice=1&search=a&sort=name&include=category&fields=name")
    query = read_export(registry["products"], registry, frozenset(), given)
    assert query.where == (condition("price", Operator.GTE, Decimal(1)),)
    assert (query.search, query.sort, query.view.include) == (("a",), keys("name", "id"), (("category",),))


@pytest.mark.parametrize("text", ["secret=a", "sort=secret", "fields=secret", "whole.secret=a", "secrt=a"])
def test_an_unreadable_field_is_unknown_in_a_query(text: str) -> None:
    with pytest.raises(ValidationError) as raised:
        read_query(EVERY_KIND["things"], EVERY_KIND, HIDDEN, parse_qsl(text))
    assert "secret" not in raised.value.fields[0].message.partition("did you mean")[2]


@pytest.mark.promise("entities, details: the operators, by type")
def test_every_kind_has_its_operators() -> None:
    for field in EVERY_KIND["things"].fields:
        for operator in set(Operator) - set(QUERY_KINDS[field.kind].operators):
            with pytest.raises(ValidationError):
                of_things(f"{field.wire}.{operator.value}=a")
