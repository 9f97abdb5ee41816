"""Mistakes in declarations: each is told at start, by its entity, field and line, with the remedy."""

import re
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest
from msgspec import Meta, Struct, defstruct

from domain.entities.markers import big, entity, help_text, index, label, many, money, ref, unique, widget
from domain.entities.registry import DeclarationError, build_registry
from domain.errors import FieldError


class Empty(Enum):
    pass


class Colour(Enum):
    RED = "red"


def declared(fields: dict[str, Any], name: str = "A", plural: str = "as", **options: Any) -> type[Struct]:
    members = [(key, *value) if isinstance(value, tuple) else (key, value) for key, value in fields.items()]
    return entity(plural, **options)(defstruct(name, members, rename="camel", kw_only=True))


def mistakes(*kinds: type[Struct]) -> tuple[str, ...]:
    with pytest.raises(DeclarationError) as caught:
        build_registry(kinds)
    return caught.value.mistakes


def text(**rules: Any) -> Any:
    return Annotated[str, Meta(**rules)]


def whole(*marks: object, **rules: Any) -> Any:
    return Annotated[(int, Meta(**rules), *marks)] if rules else Annotated[(int, *marks)]


WRONG_FIELDS: dict[str, tuple[Any, str]] = {
    "text for a number": ((int, "abc"), "has the default 'abc', which is not a value of its type (integer): write int"),
    "null for text": ((str, None), "does not take None: add `| None`"),
    "null for an optional choice of text": ((Literal["a"], None), "does not take None"),
    "a default too long": ((text(max_length=3), "long"), "which its own type refuses: Expected `str` of length <= 3"),
    "a default below the minimum": ((whole(ge=5), 4), "which its own type refuses: Expected `int` >= 5"),
    "a default beyond 32 bits": ((int, 2**31), "which its own type refuses"),
    "a default against the pattern": ((text(pattern="^[a-z]$"), "A"), "which its own type refuses"),
    "a boolean for a number": ((int, True), "has the default True"),
    "a number for a boolean": ((bool, 1), "has the default 1"),
    "a whole number for a decimal": ((Annotated[Decimal, money(8, 2)], 1), "write Decimal"),
    "a decimal with too many digits": (
        (Annotated[Decimal, money(8, 2)], Decimal("0.001")),
        "which must have at most 2 digits after the point",
    ),
    "text for a choice": ((Colour, "red"), "which is not a member of Colour"),
    "no choice of those": ((Literal["a", "b"], "c"), "which is not one of a, b"),
    "a timestamp without zone": ((datetime, datetime(2026, 1, 1)), "timezone"),  # noqa: DTZ001  # the mistake
    "a timestamp for a date": ((date, datetime(2026, 1, 1)), "write date"),  # noqa: DTZ001  # only the type matters
    "text for an id": ((UUID, "0198c0de-0000-7000-8000-000000000000"), "write UUID"),
    "a factory that fails": (
        (list[str], msgspec.field(default_factory=lambda: 1 // 0)),
        "has a default_factory that fails: ZeroDivisionError",
    ),
    "a bound beyond 32 bits": (whole(le=10**12), "has le=1000000000000, but is stored in 32 bits"),
    "a lower bound beyond 32 bits": (whole(ge=-(10**12)), "use Annotated[int, big] for 64 bits"),
    "a bound beyond 64 bits": (whole(big, le=10**30), "but is stored in 64 bits"),
    "bounds that nothing fits": (whole(ge=5, le=4), "has bounds that no value fits: from 5 to 4"),
    "lengths that nothing fits": (text(min_length=5, max_length=4), "no text fits"),
    "two bounds of one side": (Annotated[int, Meta(ge=1), Meta(gt=0)], "has two bounds of one side"),
    "a bound of text": (text(ge=1), "has a constraint that does not fit its type"),
    "a length of a number": (whole(max_length=1), "has a constraint that does not fit its type"),
    "a bound of a decimal": (Annotated[Decimal, money(8, 2), Meta(ge=0)], "bounds of a decimal are money"),
    "more digits after the point than in all": (Annotated[Decimal, money(2, 5)], "has money(2, 5): the first number"),
    "digits below zero": (Annotated[Decimal, money(2, -1)], "has money(2, -1)"),
    "no digits": (Annotated[Decimal, money(0, 0)], "from 1 to 1,000 in all"),
    "too many digits": (Annotated[Decimal, money(1001, 0)], "from 1 to 1,000 in all"),
    "a bound that the digits cannot hold": (Annotated[Decimal, money(4, 2, le=100)], "at most 99.99"),
    "amounts that nothing fits": (Annotated[Decimal, money(4, 2, ge=5, le=4)], "no value fits"),
    "a big text": (Annotated[str, big], "is marked big, which is for whole numbers"),
    "an amount of whole numbers": (Annotated[int, money(4, 2)], "is marked money(…), which is for decimals"),
    "an empty enum": (Empty, "is a choice without values"),
    "an empty literal": (Literal[()], "is a choice without values"),
    "a set": (set[str], "has the type set[str], which cannot be stored: use str, int,"),
    "a pair": (tuple[str, str], "cannot be stored"),
    "an empty tuple": (tuple[()], "cannot be stored"),
    "a list of what has rules": (list[Annotated[str, Meta(max_length=3)]], "cannot be stored"),
    "a list": (list, "has the type list, which cannot be stored"),
    "two references": (Annotated[UUID, ref("as"), ref("as")], "has more than one ref(…)"),
    "an unknown word for deletion": (
        Annotated[UUID | None, ref("as", on_delete="protect")],  # type: ignore[arg-type]  # the mistake
        "has on_delete='protect', which is unknown: use 'restrict'",
    ),
    "a relation that no filter can spell": (Annotated[UUID, ref("as", relation="the.row")], "no filter can spell"),
    "permanent without a cascade": (Annotated[UUID, ref("as", permanent=True)], "says something of a cascade alone"),
    "nested repetition": (text(pattern="^(a+)+$"), "with a repeated group that reads one text in many ways"),
    "a repeated choice": (text(pattern="^([a-z]+|[0-9])+$"), "with a repeated group that reads one text in many ways"),
    "an end that is searched for everywhere": (text(pattern=" +$"), "to the power of 2: add max_length=3162 or less"),
    "anchored in part": (text(pattern="^a|b$"), "anchors only some of its alternatives"),
    "an empty label": (Annotated[str, label(" ")], "has label(' '), which is not a text to show"),
    "two labels": (Annotated[str, label("A"), label("B")], "has more than one label(…)"),
    "help beyond 500 characters": (Annotated[str, help_text("x" * 501)], "has 501 characters: at most 500 are shown"),
    "an unknown widget": (
        Annotated[str, widget("slider")],  # type: ignore[arg-type]  # the mistake
        "has widget('slider'), which is unknown: use one of 'multiline', 'color', 'url'",
    ),
    "a widget of a number": (Annotated[int, widget("multiline")], "has widget('multiline'), which is for texts"),
}


@pytest.mark.promise("declarations, checks: an unknown word of on_delete is refused, and no cascade")
@pytest.mark.promise(
    "declarations, checks: a default is a value of its own field: type, null, length, bounds, pattern, digits, "
    "members, time zone, a factory that fails"
)
@pytest.mark.promise(
    "declarations, checks: Bounds fit the column of 32 and of 64 bits, and each other; money has possible digits; an "
    "enum has members"
)
@pytest.mark.promise(
    "declarations, checks: a pattern that anchors only some alternatives is refused; a final line feed gets past no $"
)
@pytest.mark.promise("declarations, checks: a type that cannot be stored is answered with a list of those that can")
@pytest.mark.promise(
    "entities, details: names on screens follow from the declaration, and mistakes in them stop the start"
)
@pytest.mark.parametrize("name", WRONG_FIELDS)
def test_a_wrong_field_is_reported_with_its_name_and_the_remedy(name: str) -> None:
    wrong, sentence = WRONG_FIELDS[name]
    (told,) = mistakes(declared({"thing_id": wrong}))
    assert told.startswith(("A: field 'thing_id' ", "A: relation ")), told
    assert sentence in told


WRONG_ENTITIES: dict[str, tuple[type[Struct], str]] = {
    "unique without fields": (declared({"name": str}, unique=[unique()]), "unique() names no field"),
    "unique with a field twice": (declared({"name": str}, unique=[unique("name", "name")]), "names a field twice"),
    "unique twice": (declared({"name": str}, unique=[unique("name"), unique("name")]), "is declared twice"),
    "an order of lists": (declared({"words": list[str]}, sort="words"), "which is a list and has no order"),
    "a table of PostgreSQL": (declared({"name": str}, plural="pg-class"), "as the system tables of PostgreSQL do"),
    "an index without fields": (declared({"name": str}, indexes=[index()]), "index() names no field"),
    "an index of no field": (declared({"name": str}, indexes=[index("nam")]), "index() names 'nam', which is not"),
    "an index of a list": (declared({"words": list[str]}, indexes=[index("words")]), "which is a list"),
    "an index with a field twice": (declared({"a": str}, indexes=[index("a", "a")]), "index('a', 'a') names a field"),
    "an index twice": (declared({"a": str}, indexes=[index("a"), index("a")]), "index('a') is declared twice"),
    "a path of 61 bytes": (declared({"name": str}, plural="a" * 61), "has 61 bytes: a name may have 60"),
    "a field of 61 bytes": (declared({"f" * 61: str}), "has 61 bytes"),
    "a field of 31 letters of two bytes": (declared({"ß" * 31: str}), "has 62 bytes"),
    "a system column": (declared({"ctid": str}), "field 'ctid' has the name of a system column"),
    "a point in a JSON name": (
        entity("as")(defstruct("A", [("b", str)], rename={"b": "a.b"})),
        "field 'b' has the JSON name 'a.b', which no filter can spell",
    ),
    "a comma in a JSON name": (entity("as")(defstruct("A", [("b", str)], rename={"b": "a,b"})), "no filter can spell"),
    "a sign before a JSON name": (entity("as")(defstruct("A", [("b", str)], rename={"b": "-b"})), "no filter can"),
    "an empty JSON name": (entity("as")(defstruct("A", [("b", str)], rename={"b": ""})), "no filter can spell"),
    "a to-many relation that no filter can spell": (
        declared({"a_id": Annotated[UUID, ref("as")]}, has_many={"the.as": many("as", by="a_id")}),
        "relation 'the.as' has a name that no filter can spell",
    ),
    "a history of rows that nobody writes": (
        declared({"name": str}, history=True, writable=False, sort="name"),
        "history is declared beside writable=False",
    ),
    "an empty title": (declared({"name": str}, title=""), "title is '', which is not a text to show"),
    "a row named by no field": (declared({"name": str}, display="nam"), "display names 'nam', which is not a field"),
    "a row named by a list": (declared({"words": list[str]}, display="words"), "which is a list and names no row"),
    "no columns": (declared({"name": str}, columns=[]), "columns is empty: name one field or more"),
    "a column of no field": (declared({"name": str}, columns=["nam"]), "columns names 'nam', which is not a field"),
    "a column twice": (declared({"name": str}, columns=["name", "name"]), "columns names 'name' twice"),
    "the path of service accounts": (
        declared({"name": str}, plural="service-accounts"),
        "is a path of the service itself",
    ),
    "a path that is kept for webhooks": (declared({"name": str}, plural="webhooks"), "is a path of the service itself"),
    "the table of keys": (declared({"name": str}, plural="api-keys"), "is a table of the service itself"),
    "the path of the descriptions": (declared({"name": str}, plural="entities"), "is a path of the service itself"),
    "an annotation of nothing": (entity("as")(type("A", (Struct,), {"__annotations__": {"b": "Nothing"}})), "Nothing"),
}


@pytest.mark.promise("declarations, checks: unique() and index() name fields, each once")
@pytest.mark.promise(
    "declarations, checks: names have at most 60 bytes, so that no prefix makes more than 63; names of 60 bytes work "
    "in tables, indexes and every operation"
)
@pytest.mark.promise(
    "declarations, checks: names of system columns and system tables, of the service itself, and JSON names that no "
    "filter can spell are refused"
)
@pytest.mark.parametrize("name", WRONG_ENTITIES)
def test_a_wrong_entity_is_reported_with_its_name_and_the_remedy(name: str) -> None:
    kind, sentence = WRONG_ENTITIES[name]
    (told,) = mistakes(kind)
    assert told.startswith("A: ")
    assert sentence in told


@pytest.mark.parametrize("bound", ["99.99", "-99.99", "0"])
def test_a_bound_that_the_digits_can_just_hold_is_fine(bound: str) -> None:
    amounts = money(4, 2, ge=bound, le="99.99")
    assert "price" in build_registry([declared({"price": Annotated[Decimal, amounts]})])["as"].by_name


@pytest.mark.parametrize(("marks", "bits"), [((), 32), ((big,), 64)])
def test_a_bound_that_the_bits_can_just_hold_is_fine(marks: tuple[object, ...], bits: int) -> None:
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    build_registry([declared({"stock": whole(*marks, ge=least, le=most)})])
    for beyond in (whole(*marks, ge=least - 1), whole(*marks, le=most + 1)):
        (told,) = mistakes(declared({"stock": beyond}))
        assert f"is stored in {bits} bits, from {least} to {most}" in told


@pytest.mark.parametrize(("digits", "scale"), [(1, 0), (1, 1), (38, 0), (1_000, 1_000)])
def test_an_amount_may_have_all_of_its_digits_on_one_side_of_the_point(digits: int, scale: int) -> None:
    field = build_registry([declared({"price": Annotated[Decimal, money(digits, scale)]})])["as"].by_name["price"]
    assert field.money == money(digits, scale)


@pytest.mark.promise(
    "declarations, checks: names have at most 60 bytes, so that no prefix makes more than 63; names of 60 bytes work "
    "in tables, indexes and every operation"
)
def test_names_of_60_bytes_are_fine() -> None:
    registry = build_registry([declared({"f" * 60: str, "ß" * 30: str}, plural="a" * 60)])
    assert [len(field.name.encode()) for field in registry["a" * 60].declared] == [60, 60]


class Method(Struct):
    name: str


async def _awaits(self: object, before: object) -> list[FieldError]:
    return []


async def _plain_stored(self: object, before: object, rows: object) -> None: ...


WRONG_METHODS: dict[str, tuple[str, Any, str]] = {
    "no before": ("check", lambda self: [], "check cannot be called with 1 arguments: write it as `def check(self, be"),
    "too many": ("check", lambda self, before, rows: [], "check cannot be called with 1 arguments"),
    "awaits": ("check", _awaits, "check must be a plain `def check(self, before)`"),
    "no rows": ("check_stored", lambda self, before: [], "check_stored cannot be called with 2 arguments"),
    "yields nothing": ("check_stored", _plain_stored, "check_stored must be an `async def` that yields errors"),
    **{
        name: (name, lambda self, before: [], f"has a method {name!r}, which nothing calls: is it 'check'?")
        for name in ("chek", "chekc", "hceck", "checks", "Check", "checck")
    },
    **{
        name: (name, lambda self, before: [], f"has a method {name!r}, which nothing calls: is it 'check_stored'?")
        for name in ("checkStored", "check_store", "check_sotred", "check_Stored")
    },
}


@pytest.mark.promise(
    "declarations, checks: the signature of check and check_stored is looked at; a method that is nearly called so is "
    "named"
)
@pytest.mark.parametrize("name", WRONG_METHODS)
def test_a_rule_with_a_wrong_signature_is_reported(name: str) -> None:
    method, body, sentence = WRONG_METHODS[name]
    told = mistakes(entity("as")(type("A", (Method,), {method: body})))
    assert sentence in told[0]


@pytest.mark.promise(
    "declarations, checks: the signature of check and check_stored is looked at; a method that is nearly called so is "
    "named"
)
@pytest.mark.parametrize(
    "name", ["_check", "check_price", "checked", "hcekc", "hcecx", "stored", "chess_club", "validate"]
)
def test_a_method_of_another_name_is_nobodys_mistake(name: str) -> None:
    build_registry([entity("as")(type("A", (Method,), {name: lambda self: None}))])


@pytest.mark.promise(
    "declarations, references: a cascade to rows that do not come back is refused unless permanent=True says it"
)
def test_a_cascade_to_rows_without_soft_delete_must_be_declared_permanent() -> None:
    parent = declared({"name": str}, "Parent", "parents")
    child = declared({"parent_id": Annotated[UUID, ref("parents", on_delete="cascade")]}, soft_delete=False)
    (told,) = mistakes(parent, child)
    assert "permanent=True" in told
    said = {"parent_id": Annotated[UUID, ref("parents", on_delete="cascade", permanent=True)]}
    build_registry([parent, declared(said, soft_delete=False)])
    build_registry([parent, declared({"parent_id": Annotated[UUID, ref("parents", on_delete="cascade")]})])


SOURCE = """\
from typing import Annotated
from msgspec import Meta, Struct
from tenantry import entity, ref
from uuid import UUID


@entity("books", search=["name"])
class Book(Struct):
    name: set[str]
    pages: Annotated[int, Meta(le=10**12)] = 1
    size: int = "abc"

    def check(self):
        return []


class Named(Struct):
    name: str = None


@entity("shops")
class Shop(Named, kw_only=True):
    book_id: Annotated[UUID, ref("books", on_delete="protect")]


ENTITIES = (Book, Shop)
"""


@pytest.mark.promise("declarations, checks: all mistakes of all entities are told at once, each with file and line")
def test_every_error_in_every_entity_has_its_file_and_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from entrypoints.assembly.entities import EntitiesError, load_registry

    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").write_text(SOURCE)
    with pytest.raises(EntitiesError) as caught:
        load_registry(["shop.py"])
    told = {found[1]: mistake for mistake in caught.value.mistakes if (found := re.search(r"\((\S+)\)$", mistake))}
    assert {place: re.split(" (?:has|cannot) ", mistake)[0] for place, mistake in told.items()} == {
        "shop.py:9": "Book: field 'name'",
        "shop.py:10": "Book: field 'pages'",
        "shop.py:11": "Book: field 'size'",
        "shop.py:13": "Book: check",
        "shop.py:18": "Shop: field 'name'",
        "shop.py:23": "Shop: field 'book_id'",
    }
    assert len(caught.value.mistakes) == len(told)


@pytest.mark.promise("declarations, checks: all mistakes of all entities are told at once, each with file and line")
def test_an_error_in_a_whole_entity_has_its_line() -> None:
    @entity("users")
    class User(Struct):
        name: str

    (told,) = mistakes(User)
    assert re.fullmatch(r"User: 'users' is a path of the service itself \(\S+test_declaration_mistakes.py:\d+\)", told)


@pytest.mark.promise("declarations, checks: all mistakes of all entities are told at once, each with file and line")
def test_an_unreadable_field_causes_no_further_errors() -> None:
    parent = declared({"name": set[str]}, "P", "ps", search=["name"], has_many={"as": many("as", by="p_id")})
    child = declared({"p_id": Annotated[set[UUID], ref("ps")], "q_id": Annotated[UUID, ref("qs")]})
    unread = entity("qs")(type("Q", (Struct,), {"__annotations__": {"b": "Nothing"}}))
    assert [mistake.split(" has ")[0] for mistake in mistakes(parent, child, unread)] == [
        "P: field 'name'",
        "A: field 'p_id'",
        "Q:",
    ]


def test_a_reference_of_a_wrong_type_is_reported_with_its_wrong_target() -> None:
    told = mistakes(declared({"b_id": Annotated[set[UUID], ref("bs")]}))
    assert [re.split(" (?:has|leads)", mistake)[0] for mistake in told] == ["A: field 'b_id'", "A: relation 'b'"]
    assert "'bs', which is not declared" in told[1]


def test_a_relation_has_the_fields_name_without_id_whatever_the_spelling() -> None:
    for rename in (None, "camel", "kebab"):
        kind = entity("as")(defstruct("A", [("b_id", Annotated[UUID, ref("as")])], rename=rename))
        assert list(build_registry([kind])["as"].relations) == ["b"]


@pytest.mark.promise(
    "declarations, checks: the signature of check and check_stored is looked at; a method that is nearly called so is "
    "named"
)
def test_checks_that_are_inherited_or_have_more_defaults_are_called() -> None:
    def check(self: object, before: object, strict: bool = True) -> Iterator[FieldError]:
        yield from ()

    build_registry([entity("as")(type("A", (Method,), {"check": check}))])
