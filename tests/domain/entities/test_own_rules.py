"""Ownership rules: their errors, their permissions, and the limits of callers."""

from typing import Annotated, Any
from uuid import UUID

import pytest
from msgspec import Struct, defstruct

from domain.entities.declaration import Registry
from domain.entities.markers import big, entity, many, mine, ref, through
from domain.entities.owning import RowLimits, deciding_fields, limits_of
from domain.entities.permissions import permissions_of
from domain.entities.registry import DeclarationError, build_registry
from domain.errors import Forbidden
from domain.scope import EveryTenant, OneTenant, OwnRows, Rights
from tests.builders import caller, new_id

Reference = Annotated[UUID | None, ref("projects")]
PROJECT = entity("projects", has_many={"members": many("members-of", by="project_id")})(
    defstruct("Project", [("name", str)])
)
MEMBER = entity("members-of")(
    defstruct("Member", [("project_id", Reference), ("user_id", UUID | None, None), ("level", int, 0)])
)


def order(own: Any, **more: Any) -> type[Struct]:
    fields: list[Any] = [("project_id", Reference), ("name", str, ""), ("assignee_id", UUID | None, None)]
    fields += [("ids", Annotated[list[UUID], 1], []), ("number", Annotated[int, big], 0)]
    return entity("orders", own=own, **more)(defstruct("Order", fields))


def registry(own: Any) -> Registry:
    return build_registry([PROJECT, MEMBER, order(own)])


WRONG: list[tuple[Any, str]] = [
    (5, "own must be a list"),
    (mine("created_by"), "own must be a list"),
    (["created_by"], "own must be a list of what mine(…) or through(…) returns"),
    ([mine(5)], "mine() accepts names; got 5"),  # type: ignore[arg-type]  # a wrong declaration
    ([through("project", "members", None)], "through() accepts names; got None"),  # type: ignore[arg-type]  # as above
    ([mine("owner")], "mine('owner') names 'owner', which is not a field of 'orders'"),
    ([mine("name")], "names 'name', which holds no user: use 'created_by' or a field of type UUID"),
    ([mine("ids")], "names 'ids', which holds no user"),
    ([mine("updated_by")], "names 'updated_by', which holds no user"),
    ([mine("id")], "names 'id', which holds no user"),
    ([mine("project_id")], "names 'project_id', which refers to 'projects' and not to a user"),
    ([mine("created_by"), mine("created_by")], "mine('created_by') is declared twice"),
    ([through("owner", "members", "user_id")], "'owner' is not one of 'orders': choose 'project'"),
    ([through("project", "users", "user_id")], "'users' is not one of 'projects': choose 'members'"),
    ([through("project", "members", "id_of_user")], "names 'id_of_user', which is not a field of 'members-of'"),
    ([mine("project")], "which is not a field of 'orders'; did you mean 'project_id'?"),
    ([through("project", "members", "level")], "names 'level', which holds no user"),
]


@pytest.mark.promise("entities, own rows: Errors of ownership rules are reported at startup")
@pytest.mark.parametrize(("own", "told"), WRONG)
def test_an_invalid_rule_is_reported(own: Any, told: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        registry(own)
    (mistake,) = caught.value.mistakes
    assert mistake.startswith("Order: ")
    assert told in mistake


def test_rows_shared_by_all_tenants_have_no_owner() -> None:
    shared = entity("notes", tenant_owned=False, own=[mine("created_by")])(defstruct("Note", [("name", str)]))
    with pytest.raises(DeclarationError, match="no user owns rows shared by all tenants"):
        build_registry([shared])


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"own": []}, "shared is declared without own: declare who owns a row first"),
        ({"writable": False}, "shared is declared together with writable=False"),
        ({"shared": 1}, "shared must be True or False; got 1"),
    ],
)
def test_a_wrong_declaration_of_shares_is_reported(more: dict[str, Any], told: str) -> None:
    with pytest.raises(DeclarationError, match=told):
        build_registry([PROJECT, MEMBER, order(**{"own": [mine("created_by")], "shared": True, **more})])


def test_the_permission_to_share_exists_only_with_shares() -> None:
    shared = build_registry([PROJECT, MEMBER, order([mine("created_by")], shared=True)])
    assert [name for name in permissions_of(shared) if name.startswith("share:")] == ["share:orders"]
    assert not any(name.startswith("share:") for name in permissions_of(registry(OWN)))


OWN = [mine("created_by"), mine("assignee_id"), through("project", "members", "user_id")]
PERMISSIONS = ["read-own:orders", "update-own:orders", "delete-own:orders"]


@pytest.mark.promise("entities, own rows: Only entities with ownership rules have permissions for own rows")
def test_the_permissions_for_own_rows_exist_only_with_rules() -> None:
    assert [name for name in permissions_of(registry(OWN)) if "-own:" in name] == PERMISSIONS
    assert [name for name in permissions_of(registry([])) if "-own:" in name] == []


def test_the_fields_that_decide_are_those_of_the_rules() -> None:
    assert deciding_fields(registry(OWN)["orders"]) == ("created_by", "assignee_id", "project_id")


SEES = frozenset({"orders"})
LIMITS: list[tuple[list[str], frozenset[str], set[str]]] = [
    (["*"], frozenset(), set()),
    (["*:orders"], frozenset(), set()),
    ([], frozenset(), set()),
    (["read:orders", "read-own:orders"], frozenset(), set()),
    (["read-own:orders"], SEES, {"create"}),
    (["read-own:*"], SEES, {"create"}),
    (["read-own:orders", "update:orders"], SEES, {"create"}),
    (["read:orders", "update-own:orders"], frozenset(), {"create", "update"}),
    (["read:orders", "delete-own:orders"], frozenset(), {"delete"}),
    (["read:*", "update:*", "delete-own:orders"], frozenset(), {"delete"}),
    # without a permission to read, a caller must not learn which ids exist
    (["update-own:orders"], SEES, {"create", "update"}),
    (["update:orders"], frozenset(), set()),
]


@pytest.mark.parametrize(("held", "sees", "touches"), LIMITS)
def test_a_caller_with_only_the_permission_for_own_rows_is_limited(
    held: list[str], sees: frozenset[str], touches: set[str]
) -> None:
    limits = limits_of(registry(OWN), Rights(tuple(held), is_super_admin=False))
    assert limits.sees == sees
    assert limits.touches == {f"{action}:orders" for action in touches}


def test_only_requests_near_own_rows_have_limits() -> None:
    alone = entity("notes")(defstruct("Note", [("name", str)]))
    made, scope = build_registry([PROJECT, MEMBER, order(OWN), alone]), OneTenant(new_id())
    reader = caller(permissions=("read-own:orders",))
    limited = {model.plural: RowLimits(made, model).of(scope, reader) != scope for model in made}
    assert limited == {"projects": False, "members-of": False, "orders": True, "notes": False}
    narrowed = RowLimits(made, None).of(scope, reader)
    assert narrowed == OwnRows(
        scope.id, user_id=reader.user_id, sees=frozenset({"orders"}), touches=frozenset({"create:orders"})
    )
    with pytest.raises(Forbidden):
        RowLimits(made, None).of(EveryTenant(), reader)
    assert RowLimits(made, None).of(EveryTenant(), caller(permissions=("*",))) == EveryTenant()
