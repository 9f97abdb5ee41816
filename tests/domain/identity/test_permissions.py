"""Permission names, their wildcards, and the laws of implication.

What administrators may change, by rules that need no account.

Parts of the service, and the lists that are made of them.
"""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from domain.entities.builtin_entities import Application
from domain.errors import Conflict, ValidationError
from domain.identity.administration import ensure_fits_beside, ensure_keeps_name, shipped_name
from domain.identity.tokens import ensure_fits_token
from domain.identity.users import ADMIN, MEMBER, Role, shipped_role_id
from domain.parts.composition import AREAS, AUDIT_ACTIONS, OWN_PERMISSIONS, PARTS
from domain.scope import ALL_PERMISSIONS, allows, is_permission, may_grant, meet, smallest
from tests.builders import role

SIDES = ["*", "read", "create", "users", "products"]
EVERY_NAME = ["*", *(f"{action}:{entity}" for action in SIDES for entity in SIDES)]
NAMES = st.sampled_from(EVERY_NAME)
HELD = st.lists(NAMES, max_size=6)


@pytest.mark.promise("identity, administration: Permission names, and wildcards")
@pytest.mark.parametrize("name", ["*", "*:*", "read:users", "*:users", "read:*", "a-b_c:d-0", "x" * 63 + ":y"])
def test_names_that_parse(name: str) -> None:
    assert is_permission(name)


@pytest.mark.promise("identity, administration: Permission names, and wildcards")
@pytest.mark.parametrize(
    "name",
    [
        "",
        ":",
        "read",
        "read:",
        ":users",
        "Read:users",
        "read:users:all",
        "read: users",
        "read:users\n",
        "**",
        "re*:users",
        "-a:b",
        "x" * 64 + ":y",
        "read:usérs",
        " *",
    ],
)
def test_names_that_do_not(name: str) -> None:
    assert not is_permission(name)


@pytest.mark.promise("identity, administration: Permission names, and wildcards")
@pytest.mark.parametrize(
    ("held", "needed", "expected"),
    [
        ("*", "read:users", True),
        ("*:*", "read:users", True),
        ("*:*", "*", True),
        ("*", "*:*", True),
        ("read:*", "read:users", True),
        ("*:users", "read:users", True),
        ("read:users", "read:users", True),
        ("read:users", "read:roles", False),
        ("read:users", "create:users", False),
        ("read:*", "create:users", False),
        ("read:users", "read:*", False),
        ("read:*", "*", False),
        ("*:users", "*:*", False),
    ],
)
def test_a_permission_covers_the_listed_permissions(held: str, needed: str, expected: bool) -> None:
    assert allows([held], needed) is expected
    assert may_grant([held], [needed]) is expected
    assert covers(held, needed) is expected


def covers(held: str, needed: str) -> bool:
    """The rule of the specification, one permission against one; the service looks names up instead."""
    if held in (ALL_PERMISSIONS, "*:*", needed):
        return True
    held_action, _, held_resource = held.partition(":")
    action, _, resource = needed.partition(":")
    return needed != ALL_PERMISSIONS and held_action in ("*", action) and held_resource in ("*", resource)


@given(HELD, NAMES)
def test_a_list_allows_what_one_of_its_permissions_covers(held: list[str], needed: str) -> None:
    expected = any(covers(name, needed) for name in held)
    assert allows(held, needed) is expected
    assert may_grant(held, [needed]) is expected


@given(HELD, HELD, NAMES)
def test_the_meet_of_two_permission_lists_allows_what_both_allow(
    first: list[str], second: list[str], needed: str
) -> None:
    assert allows(meet(first, second), needed) is (allows(first, needed) and allows(second, needed))


def test_thousands_of_permissions_are_looked_up_and_not_compared() -> None:
    """The number of comparisons of names grows with their number, not with its square."""
    names = [Counted(f"read:n{number}") for number in range(2_600)]
    Counted.comparisons = 0
    assert len(smallest(names)) == len(meet(names, names)) == 2_600
    assert may_grant(names, names)
    assert Counted.comparisons < 50 * len(names)


class Counted(str):
    """A text that counts how often it is compared with another one."""

    comparisons = 0
    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.comparisons += 1
        return str.__eq__(self, other)


def test_nothing_held_allows_nothing() -> None:
    assert not allows((), "read:users")


def test_a_permission_that_is_not_held_cannot_be_granted() -> None:
    assert may_grant(["read:*"], ["read:users", "read:*"])
    assert not may_grant(["read:*"], ["read:users", "create:users"])
    assert not may_grant(["*:users", "read:*"], ["*"])
    assert may_grant([], [])


def test_the_smallest_set_drops_what_a_wildcard_covers() -> None:
    assert smallest(["read:users", "read:*", "create:users", "read:roles"]) == ("create:users", "read:*")
    assert smallest(["*:*", "read:users"]) == ("*",)
    assert smallest([]) == ()


@given(HELD, NAMES, NAMES)
def test_more_permissions_never_allow_less(held: list[str], more: str, needed: str) -> None:
    assert not allows(held, needed) or allows([*held, more], needed)


@pytest.mark.promise("identity, tokens and keys: the smallest set of permissions")
@given(HELD, NAMES)
def test_the_smallest_set_says_the_same(held: list[str], needed: str) -> None:
    assert allows(smallest(held), needed) == allows(held, needed)


@pytest.mark.promise("identity, tokens and keys: the smallest set of permissions")
@given(HELD)
def test_nothing_can_be_left_out_of_the_smallest_set(held: list[str]) -> None:
    least = smallest(held)
    for name in least:
        assert not allows([other for other in least if other != name], name)


def test_covering_is_transitive() -> None:
    covered = {name: {other for other in EVERY_NAME if covers(name, other)} for name in EVERY_NAME}
    chains = [(first, second) for first in EVERY_NAME for second in covered[first] - {first}]
    assert len(chains) > len(EVERY_NAME)
    assert [(first, second) for first, second in chains if not covered[second] <= covered[first]] == []


@given(HELD, HELD)
def test_a_grant_never_reaches_further_than_its_giver(held: list[str], given_: list[str]) -> None:
    if may_grant(held, given_):
        for needed in ("*", "read:users", "create:products", "read:*", "*:users"):
            assert not allows(given_, needed) or allows(held, needed)


def test_an_application_with_a_name_from_before_the_rule_can_be_closed() -> None:
    """And gets no other such name."""
    before = Application(app_id="shop", name="Shop", required_permission="sell")
    assert list(replace(before, is_active=False).check(before)) == []
    (error,) = replace(before, required_permission="Sell").check(before)
    assert error.field == "requiredPermission"


@pytest.mark.promise("identity, administration: a role of the service keeps its name, and is not deleted")
def test_a_shipped_role_that_was_renamed_gets_its_name_back() -> None:
    renamed = Role(id=shipped_role_id(ADMIN), tenant_id=None, name="Boss")
    assert shipped_name(renamed) == ADMIN
    ensure_keeps_name(renamed, "Boss")
    ensure_keeps_name(renamed, ADMIN)
    with pytest.raises(Conflict) as refusal:
        ensure_keeps_name(renamed, "Chief")
    assert [field.field for field in refusal.value.fields] == ["name"]


def test_other_roles_are_called_anything() -> None:
    made = Role(id=shipped_role_id("Editor"), tenant_id=None, name="Editor")
    assert shipped_name(made) is None
    ensure_keeps_name(made, MEMBER)


def test_roles_fit_together_by_the_permissions_that_they_have_in_common() -> None:
    """Sizes are added up first, which is quick, and only what is too much then is looked at as a token carries it."""
    names = [f"read:{'x' * 58}{number:03}" for number in range(112)]
    own, same, rest = (role(None, permissions=tuple(held)) for held in (names[:60], names[:60], names[60:]))
    ensure_fits_beside(own, [(), (same,), (role(None),)], "permissions")
    for others in ((rest,), (same, rest)):
        with pytest.raises(ValidationError) as refusal:
            ensure_fits_beside(own, [(), others], "permissions")
        with pytest.raises(ValidationError) as alone:
            ensure_fits_token((own, *others), "permissions")
        assert refusal.value.fields == alone.value.fields
    everything = role(None, permissions=("*",))
    ensure_fits_beside(own, [(everything, rest)], "permissions")


def test_each_audit_action_permission_and_area_is_in_one_part() -> None:
    for names in (
        [action for part in PARTS for action in part.audit_actions],
        [permission.name for permission in OWN_PERMISSIONS],
        [area.name for area in AREAS],
    ):
        assert [name for name, count in Counter(names).items() if count > 1] == []


def test_permissions_are_well_formed() -> None:
    assert [permission.name for permission in OWN_PERMISSIONS if not is_permission(permission.name)] == []


def test_each_audit_action_has_a_meaning_that_is_a_sentence() -> None:
    assert [action for action, meaning in AUDIT_ACTIONS.items() if not meaning.endswith(".")] == []
