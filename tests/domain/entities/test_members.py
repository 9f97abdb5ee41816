"""References to members: mistakes in their declarations, and filters that name the caller."""

from typing import Annotated, Any
from uuid import UUID

import pytest
from msgspec import Struct, defstruct

from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.markers import big, entity, links, many, member, ref
from domain.entities.query.query import ME, Condition, Operator, Path, Query, of_caller
from domain.entities.query.read_query import read_export, read_query
from domain.entities.registry import DeclarationError, build_registry
from domain.errors import ValidationError
from tests.builders import new_id


def declared(fields: dict[str, Any], plural: str = "errands", **options: Any) -> type[Struct]:
    return entity(plural, **options)(defstruct("Errand", list(fields.items()), rename="camel", kw_only=True))


def mistakes(*kinds: type[Struct]) -> tuple[str, ...]:
    with pytest.raises(DeclarationError) as caught:
        build_registry([*BUILTIN_ENTITIES, *kinds])
    return caught.value.mistakes


WRONG: dict[str, tuple[Any, str]] = {
    "an unknown word": (
        Annotated[UUID | None, member(on_leave="cascade")],  # type: ignore[arg-type]  # the mistake
        "has on_leave='cascade', which is unknown: use 'restrict' (the membership cannot end), 'clear'",
    ),
    "clear without null": (
        Annotated[UUID, member(on_leave="clear")],
        "is cleared when its member leaves but cannot be null: add `| None` to its type",
    ),
    "a reference to members": (Annotated[UUID, ref("members")], 'is marked ref("members"): use member(on_leave=…)'),
    "a cascade from members": (
        Annotated[UUID, ref("members", on_delete="cascade")],
        'is marked ref("members"): use member(on_leave=…)',
    ),
    "a text": (Annotated[str, member()], "refers to 'members' but is not a UUID"),
    "a list": (Annotated[list[UUID], member()], "refers to 'members' but is not a UUID"),
    "no brackets": (Annotated[UUID, member], "is marked member without brackets"),
    "a relation that is no text": (
        Annotated[UUID, member(relation=5)],  # type: ignore[arg-type]  # the mistake
        "has member(…, relation=…), which must be a text, or None",
    ),
    "two targets": (Annotated[UUID, member(), ref("errands")], "has more than one ref(…)"),
    "links": (Annotated[list[UUID], links("members")], 'has links("members"), which would not end with a membership'),
    "a marker of numbers": (Annotated[UUID, member(), big], "is marked big, which is for whole numbers"),
}


@pytest.mark.promise("declarations, references: member(…) says what the end of a membership does, or the start fails")
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_member_field_is_reported_with_the_remedy(name: str) -> None:
    wrong, sentence = WRONG[name]
    (told,) = mistakes(declared({"user_id": wrong}))
    assert told.startswith("Errand: field 'user_id' ")
    assert sentence in told


def test_rows_of_all_tenants_name_no_member() -> None:
    for on_leave in ("clear", "keep"):
        kind = declared({"user_id": Annotated[UUID | None, member(on_leave=on_leave)]}, tenant_owned=False)
        (told,) = mistakes(kind)
        assert "leads from rows shared by all tenants to rows of one tenant" in told


def test_members_list_no_rows() -> None:
    (told,) = mistakes(declared({"name": str}, has_many={"people": many("members", by="errand_id")}))
    assert "needs a field 'errand_id' of 'members' that refers back" in told


@pytest.mark.parametrize("plural", ["members", "operations"])
def test_the_paths_of_the_service_are_reserved(plural: str) -> None:
    told = mistakes(declared({"name": str}, plural=plural))
    assert any(f"{plural!r} is a path of the service itself" in each for each in told)


ERRANDS = build_registry(
    [
        *BUILTIN_ENTITIES,
        declared({"title": str, "user_id": Annotated[UUID | None, member()], "other_id": UUID | None}),
    ]
)


def test_the_relation_is_named_by_the_field_or_the_marker() -> None:
    named = declared({"user_id": Annotated[UUID, member(relation="worker")]})
    registry = build_registry([*BUILTIN_ENTITIES, named])
    assert (list(registry["errands"].relations), list(ERRANDS["errands"].relations)) == (["worker"], ["user"])


def asked(name: str, text: str) -> Query:
    query = read_query(ERRANDS["errands"], ERRANDS, frozenset(), [(name, text)])
    assert query == read_query(ERRANDS["errands"], ERRANDS, frozenset(), [(name, text)])
    assert query.names_caller == ("me" in text.lower())
    assert read_export(ERRANDS["errands"], ERRANDS, frozenset(), [(name, text)]).where == query.where
    return query


@pytest.mark.promise("entities, contract: Filters: me is the caller, in fields that hold the id of a user")
def test_me_stands_for_the_caller_in_fields_of_users() -> None:
    caller, other = new_id(), new_id()
    for name in ("userId", "createdBy", "updatedBy", "deletedBy", "user.id"):
        query = asked(name, "me")
        assert [(each.operator, each.value) for each in query.where] == [(Operator.EQ, ME)]
        assert [each.value for each in of_caller(query, caller).where] == [caller]
    among = of_caller(asked("userId.in", f"ME,{other}"), caller)
    assert among.where == (Condition(Path((), "user_id"), Operator.IN, (caller, other)),)
    assert asked("userId.ne", "me").where[0].operator is Operator.NE
    assert of_caller(asked("userId", str(other)), caller) == asked("userId", str(other))


@pytest.mark.parametrize("name", ["id", "otherId", "userId.isNull"])
def test_me_is_not_a_value_of_other_fields(name: str) -> None:
    with pytest.raises(ValidationError):
        asked(name, "me")
