"""Declarations read into models, and the report of mistakes in declarations.

Every table by the kinds of fields has a record for each kind.
"""

import ast
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest
from msgspec import Meta, Struct, defstruct

from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.kinds import KINDS, Kind
from domain.entities.markers import big, entity, many, money, ref, unique
from domain.entities.permissions import permissions_of
from domain.entities.registry import DeclarationError, build_registry
from domain.errors import FieldError

REGISTRY = build_registry((*ENTITIES, *BUILTIN_ENTITIES))


def declared(plural: str, fields: Mapping[str, Any], **options: Any) -> type[Struct]:
    kind = defstruct(plural.title().replace("-", ""), list(fields.items()), rename="camel", kw_only=True)
    return entity(plural, **options)(kind)


def named(name: str, plural: str) -> type[Struct]:
    return entity(plural)(defstruct(name, [("text", str)], kw_only=True))


def mistakes(*kinds: type[Struct]) -> tuple[str, ...]:
    with pytest.raises(DeclarationError) as caught:
        build_registry(kinds)
    assert all(mistake in str(caught.value) for mistake in caught.value.mistakes)
    return caught.value.mistakes


ONE_MISTAKE: dict[str, tuple[list[type[Struct]], str]] = {
    "not an entity": ([defstruct("Plain", [("name", str)])], "has no decorator @entity"),
    "no path": ([declared("Bad_Path", {"name": str})], "is not a valid path"),
    "our own path": ([declared("users", {"name": str})], "is a path of the service itself"),
    "two alike": ([declared("as", {"name": str}), declared("as", {"name": str})], "declared 2 times"),
    "one name for two": ([named("Note", "as"), named("Note", "bs")], "'Note' would be the name of 2 OpenAPI schemas"),
    "a name that another's page has": (
        [named("Note", "as"), named("NotePage", "bs")],
        "'NotePage' would be the name of 2 OpenAPI schemas",
    ),
    "a type that cannot be stored": ([declared("as", {"name": set[str]})], "cannot be stored"),
    "two types": ([declared("as", {"name": str | int})], "only one type"),
    "a decimal without digits": ([declared("as", {"price": Decimal})], "without money"),
    "a choice of numbers": ([declared("as", {"size": Literal[1, 2]})], "choice whose values are not text"),
    "a server's name": ([declared("as", {"created_at": str})], "'createdat' is used twice"),
    "a server's name that it does not show": (
        [declared("as", {"tenant_id": str})],
        "a name that the service uses itself",
    ),
    "a parameter's name": ([declared("as", {"sort_by": str})], "name of a query parameter"),
    "two of one name": ([declared("as", {"ab": str, "AB": str})], "'ab' is used twice"),
    "a relation of a field's name": (
        [declared("as", {"b": str, "b_id": Annotated[UUID, ref("as")]})],
        "'b' is used twice",
    ),
    "an unknown target": ([declared("as", {"b_id": Annotated[UUID, ref("bs")]})], "'bs', which is not declared"),
    "a reference that is no id": ([declared("as", {"b_id": Annotated[str, ref("as")]})], "is not a UUID"),
    "cleared but required": (
        [declared("as", {"b_id": Annotated[UUID, ref("as", on_delete="clear")]})],
        "cannot be null",
    ),
    "from shared into a tenant": (
        [declared("as", {"b_id": Annotated[UUID, ref("bs")]}, tenant_owned=False), declared("bs", {"name": str})],
        "from rows shared by all tenants",
    ),
    "to-many without a way back": (
        [declared("as", {"name": str}, has_many={"bs": many("bs", by="a_id")}), declared("bs", {"a_id": UUID})],
        "refers back",
    ),
    "an unknown unique field": ([declared("as", {"name": str}, unique=[unique("code")])], "unique() names 'code'"),
    "an unknown search field": ([declared("as", {"name": str}, search=["code"])], "search names 'code'"),
    "search in a number": ([declared("as", {"size": int}, search=["size"])], "search names 'size'"),
    "an unknown order": ([declared("as", {"name": str}, sort="-code")], "sort names '-code'"),
}


@pytest.mark.promise(
    "declarations, checks: names of system columns and system tables, of the service itself, and JSON names that no "
    "filter can spell are refused"
)
@pytest.mark.parametrize("name", ONE_MISTAKE)
def test_a_mistake_stops_the_start_with_one_sentence(name: str) -> None:
    kinds, sentence = ONE_MISTAKE[name]
    assert any(sentence in mistake for mistake in mistakes(*kinds)), mistakes(*kinds)


@pytest.mark.promise("declarations, checks: all mistakes of all entities are told at once, each with file and line")
def test_all_errors_of_all_entities_are_reported_at_once() -> None:
    told = mistakes(
        declared("users", {"name": set[str]}),
        declared("as", {"price": Decimal}),
        declared("bs", {"c_id": Annotated[UUID, ref("cs")], "sort": str}, search=["x"]),
    )
    assert len(told) == 6


def test_the_example_catalogue_is_served() -> None:
    assert [model.plural for model in REGISTRY] == [
        "categories",
        "products",
        "reviews",
        "currencies",
        "applications",
        "audit-events",
        "members",
    ]
    assert REGISTRY.oddities == ()


def test_an_answer_names_id_the_declared_fields_and_the_servers_own() -> None:
    assert [field.wire for field in REGISTRY["products"].fields] == (
        [
            "id",
            "name",
            "sku",
            "description",
            "price",
            "stock",
            "status",
            "categoryId",
            "releasedAt",
            "photoId",
            "createdAt",
            "updatedAt",
            "createdBy",
            "updatedBy",
            "isDeleted",
            "deletedAt",
            "deletedBy",
            "version",
        ]
    )


def test_an_entity_without_soft_delete_has_no_is_deleted_field() -> None:
    assert "is_deleted" not in REGISTRY["currencies"].by_name


def test_a_read_only_entity_has_no_audit_fields() -> None:
    assert "created_at" not in REGISTRY["audit-events"].by_name
    assert "tenant_id" in REGISTRY["audit-events"].by_name


def test_a_reference_is_a_relation_in_both_directions() -> None:
    category, products = REGISTRY["products"].relations["category"], REGISTRY["categories"].relations["products"]
    assert (category.target, category.by, category.is_many, category.on_delete) == (
        "categories",
        "category_id",
        False,
        "restrict",
    )
    assert (products.target, products.by, products.is_many) == ("products", "category_id", True)
    assert [(model.plural, field.name) for model, field in REGISTRY.referring("products")] == [
        ("reviews", "product_id")
    ]


def test_permissions_are_four_per_entity() -> None:
    assert "create:products" in permissions_of(REGISTRY)
    assert "delete:audit-events" in permissions_of(REGISTRY)
    assert "purge:products" in permissions_of(REGISTRY)
    assert "purge:currencies" not in permissions_of(REGISTRY)
    # to read members, to purge, and of own reviews
    assert len(permissions_of(REGISTRY)) == 4 * len(REGISTRY.stored) + 5 + 3


class Everything(Struct, rename="camel", kw_only=True):
    text: str
    whole: int
    large: Annotated[int, big]
    price: Annotated[Decimal, money(10, 2)]
    ratio: float
    is_open: bool
    at: datetime
    row: UUID
    choice: Literal["a", "b"]
    rows: list[UUID]
    words: list[str] | None = None


def test_each_type_has_its_kind() -> None:
    model = build_registry([entity("everything")(Everything)])["everything"]
    assert [field.kind for field in model.declared] == [
        Kind.TEXT,
        Kind.INTEGER,
        Kind.BIG_INTEGER,
        Kind.DECIMAL,
        Kind.FLOAT,
        Kind.BOOLEAN,
        Kind.TIMESTAMP,
        Kind.UUID,
        Kind.CHOICE,
        Kind.UUIDS,
        Kind.TEXTS,
    ]
    assert [field.name for field in model.declared if not field.required] == ["words"]
    assert model.by_name["choice"].choices == ("a", "b")


def test_null_is_accepted_inside_or_outside_of_annotated() -> None:
    outside, inside = Annotated[str, Meta(max_length=3)] | None, Annotated[str | None, Meta(max_length=3)]
    for hint in (outside, inside):
        field = build_registry([declared("as", {"name": hint})])["as"].by_name["name"]
        assert field.nullable
        assert msgspec.convert(None, field.type) is None
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert("long", field.type)


@pytest.mark.parametrize("name", ["minPrice", "maxPrice", "priceAfter", "priceBefore"])
def test_a_property_that_wins_over_a_bound_is_an_oddity(name: str) -> None:
    kind = defstruct("A", [("price", int), ("odd", int)], rename={"odd": name}, kw_only=True)
    (oddity,) = build_registry([entity("as")(kind)]).oddities
    assert name in oddity
    assert "'price'" in oddity


def test_a_broken_rule_names_fields_by_their_wire_names() -> None:
    products = REGISTRY["products"]
    values = {field.name: None for field in products.declared} | {
        "status": products.struct.__annotations__["status"].LIVE
    }
    assert [error.field for error in products.broken_rules(values, None)] == ["categoryId"]


@entity("lamps", check_reads=["watts"])
class Lamp(Struct, kw_only=True):
    watts: int
    socket: str = "E27"

    def check(self, before: "Lamp | None") -> Iterator[FieldError]:
        if self.watts > 60 and (before is None or before.watts <= 60):
            yield FieldError("watts", "is too much")
        if self.watts == 13:
            yield FieldError("socket", f"is unlucky: {self.socket}")


def test_a_rule_is_checked_for_changes_of_the_fields_it_reads() -> None:
    lamps = build_registry([Lamp])["lamps"]
    assert lamps.rules_look_at(["socket", "watts"])
    assert not lamps.rules_look_at(["socket"])
    assert [error.message for error in lamps.broken_rules({"watts": 61, "socket": "E14"}, None)] == ["is too much"]
    assert lamps.broken_rules({"watts": 62, "socket": "E14"}, {"watts": 61, "socket": "E14"}) == []
    assert REGISTRY["products"].rules_look_at(["status"])
    assert not REGISTRY["products"].rules_look_at(["price"])
    assert not REGISTRY["reviews"].rules_look_at(["rating"])


def test_a_rule_cannot_read_fields_beyond_the_declared_ones() -> None:
    lamps = build_registry([Lamp])["lamps"]
    with pytest.raises(LookupError, match="'socket'"):
        lamps.broken_rules({"watts": 13, "socket": "E14"}, None)


def test_check_reads_must_name_declared_fields() -> None:
    kind = defstruct("Plain", [("name", str)], kw_only=True)
    assert mistakes(entity("plain", check_reads=["colour"])(kind)) == (
        "Plain: check_reads names 'colour', which it does not declare",
        "Plain: check_reads is declared, but the entity has no method check",
    )


def test_an_index_of_no_search_cannot_be_left_out() -> None:
    kind = defstruct("Plain", [("name", str)], kw_only=True)
    assert build_registry([entity("plain", search=["name"], search_index=False)(kind)])["plain"].indexed_search == ()
    assert mistakes(entity("plain", search_index=False)(kind)) == (
        "Plain: search_index=False is declared, but no search fields are",
    )


def test_a_rule_on_other_rows_is_written_as_one() -> None:
    @entity("plain")
    class Plain(Struct):
        name: str

        async def check_stored(self, before: object, rows: object) -> list[object]:
            return []

    (mistake,) = mistakes(Plain)
    assert mistake.startswith("Plain: check_stored must be an `async def` that yields errors (")


ROOT = Path(__file__).parents[3]
FOLDERS = ("domain", "application", "adapters", "entrypoints", "documentation")


def _kind(node: ast.AST | None) -> str | None:
    is_kind = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Kind"
    return node.attr if is_kind and isinstance(node, ast.Attribute) else None


def _places() -> Iterator[tuple[str, ast.AST]]:
    for file in (file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))):
        text = file.read_text("utf-8")
        if "Kind." in text:
            for node in ast.walk(ast.parse(text)):
                yield f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}", node


def test_each_table_by_kind_has_every_kind() -> None:
    known = {kind.name for kind in Kind}
    tables = {
        place: {name for key in node.keys if (name := _kind(key))}
        for place, node in _places()
        if isinstance(node, ast.Dict) and any(map(_kind, node.keys))
    }
    assert len(tables) >= 8
    assert {place: known - names for place, names in tables.items() if names != known} == {}


def test_no_module_lists_several_kinds_of_fields() -> None:
    """A list of kinds passes a new kind over in silence: use a family of ``kinds`` or ``match`` with assert_never."""
    lists = (
        place
        for place, node in _places()
        if isinstance(node, ast.Tuple | ast.List | ast.Set) and len([*filter(_kind, node.elts)]) > 1
    )
    assert list(lists) == []


@pytest.mark.parametrize("kind", Kind)
def test_a_kind_with_bits_is_a_whole_number(kind: Kind) -> None:
    assert (KINDS[kind].bits is not None) is (KINDS[kind].python is int)
