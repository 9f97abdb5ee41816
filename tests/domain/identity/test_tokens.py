"""The specification's state table of logins, and the claims of tokens.

Token versions: revoked and stale tokens.

Rotation of signing keys, with overlap.
"""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from msgspec import UNSET, json
from msgspec.structs import replace

from domain.errors import Forbidden, TokenExpired, TokenInvalid, Unauthorized
from domain.identity.logins import choose_tenant
from domain.identity.signing_keys import SigningKey, living_keys, signing_key
from domain.identity.tokens import (
    LEEWAY,
    SELECTOR_SCOPE,
    Issue,
    Lifetimes,
    Session,
    caller_of,
    claims_for,
    membership_in,
)
from domain.identity.users import SUPER_ADMIN, AccountState, Membership, Role, User
from domain.scope import (
    ALL_PERMISSIONS,
    OneTenant,
    at_issue,
    ensure_alive,
    grants_subject,
    role_subject,
    session_subject,
    tenant_subject,
    user_subject,
)

NOW = datetime(2026, 11, 20, 12, 0, 0, 500_000, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
SECONDS = int(NOW.timestamp())


def tenant(number: int, is_active: bool = True, roles: tuple[Role, ...] = ()) -> Membership:
    return Membership(
        tenant_id=UUID(int=number),
        tenant_name=f"Tenant {number}",
        tenant_identifier=f"tenant-{number}",
        tenant_is_active=is_active,
        is_default=False,
        joined_at=NOW,
        roles=roles,
    )


ONE, TWO, CLOSED = tenant(1), tenant(2), tenant(3, is_active=False)


@pytest.mark.promise("identity, account states: several tenants, none preferred: Global Token")
@pytest.mark.promise("identity, account states: one tenant: its token, smartAutoSwitched")
@pytest.mark.promise("identity, account states: a preferred tenant: its token")
@pytest.mark.promise("identity, account states: no tenant: a Global Token with nothing to select")
@pytest.mark.parametrize(
    ("memberships", "preferred", "chosen", "smart", "asks"),
    [
        ([], None, None, False, False),
        ([ONE], None, ONE, True, False),
        ([ONE, TWO], None, None, False, True),
        ([ONE, CLOSED], None, ONE, True, False),
        ([CLOSED], None, None, False, False),
        ([ONE, TWO, CLOSED], None, None, False, True),
        ([ONE], 1, ONE, False, False),
        ([ONE, TWO], 2, TWO, False, False),
    ],
)
def test_the_state_table(
    memberships: list[Membership], preferred: int | None, chosen: Membership | None, smart: bool, asks: bool
) -> None:
    choice = choose_tenant(memberships, None if preferred is None else UUID(int=preferred))
    assert (choice.membership, choice.smart_auto_switched, choice.requires_tenant_selection) == (chosen, smart, asks)


@pytest.mark.parametrize("memberships", [[], [TWO], [CLOSED, ONE]])
def test_a_preferred_tenant_without_an_active_membership_is_forbidden(memberships: list[Membership]) -> None:
    with pytest.raises(Forbidden):
        choose_tenant(memberships, UUID(int=3))


def test_foreign_closed_and_unknown_tenants_are_refused_alike() -> None:
    sentences = set()
    for number in (2, 3, 4):
        with pytest.raises(Forbidden) as caught:
            membership_in([ONE, CLOSED], UUID(int=number))
        sentences.add(caught.value.message)
    assert len(sentences) == 1


READER = Role(id=UUID(int=11), tenant_id=UUID(int=1), name="Reader", permissions=("read:*", "read:products"))
WRITER = Role(id=UUID(int=12), tenant_id=None, name="Writer", permissions=("create:products",))
SUPER = Role(id=UUID(int=13), tenant_id=None, name=SUPER_ADMIN, permissions=(ALL_PERMISSIONS,))
USER = User(
    id=UUID(int=7),
    email="Ada@example.com",
    email_key="ada@example.com",
    full_name="Ada",
    created_at=NOW,
    updated_at=NOW,
)
MEMBER = tenant(1, roles=(READER, WRITER))
STANDING = AccountState(
    user=USER,
    memberships=(MEMBER,),
    roles=(WRITER,),
    token_versions={user_subject(USER.id): 4, grants_subject(USER.id): 2, tenant_subject(UUID(int=1)): 1},
)
SESSION = Session(
    id=UUID(int=8), user_id=USER.id, tenant_id=UUID(int=1), counter=0, created_at=NOW, rotated_at=NOW, app_id="shop"
)
ISSUE = Issue(
    issuer="https://service",
    audience="api",
    jti=UUID(int=9),
    lifetimes=Lifetimes(
        access=60 * MINUTE,
        global_access=2 * MINUTE,
        unused=MINUTE,
        session=MINUTE,
        selection=MINUTE,
        grace=MINUTE,
    ),
)


def test_a_token_has_auth_time_only_when_the_time_of_the_proof_is_known() -> None:
    proved = replace(SESSION, authenticated_at=NOW - MINUTE)
    assert claims_for(STANDING, MEMBER, proved, NOW, ISSUE).auth_time == SECONDS - 60
    unknown = claims_for(STANDING, MEMBER, SESSION, NOW, ISSUE)
    assert SESSION.authenticated_at is None
    assert "auth_time" not in json.decode(json.encode(unknown))


def test_a_tenant_token_carries_the_permissions_held_in_the_tenant() -> None:
    claims = claims_for(STANDING, MEMBER, SESSION, NOW, ISSUE)
    assert (claims.token_type, claims.tenant_id, claims.scope) == ("Tenant", UUID(int=1), UNSET)
    assert (claims.iat, claims.nbf, claims.exp) == (SECONDS, SECONDS, SECONDS + 3600)
    assert (claims.sub, claims.sid, claims.jti, claims.app_id) == (USER.id, SESSION.id, UUID(int=9), "shop")
    assert (claims.name, claims.email) == ("Ada", "Ada@example.com")
    assert claims.permissions == ("create:products", "read:*")
    assert claims.roles == ("Reader", "Writer")
    assert not claims.super_admin


def test_a_tenant_token_names_the_counts_it_was_issued_under() -> None:
    claims = claims_for(STANDING, MEMBER, SESSION, NOW, ISSUE)
    assert claims.rev == 4
    assert claims.ver == {
        grants_subject(USER.id): 2,
        tenant_subject(UUID(int=1)): 1,
        role_subject(READER.id): 0,
        role_subject(WRITER.id): 0,
    }


def test_a_global_token_only_selects_a_tenant() -> None:
    state = replace(STANDING, roles=(SUPER,))
    claims = claims_for(state, None, replace(SESSION, app_id=None), NOW, ISSUE)
    assert (claims.token_type, claims.tenant_id, claims.scope) == ("Global", UNSET, SELECTOR_SCOPE)
    assert (claims.permissions, claims.roles, claims.super_admin) == ((), (), False)
    assert claims.exp == SECONDS + 120
    assert claims.app_id is UNSET


def test_a_super_admin_is_one_in_every_tenant() -> None:
    claims = claims_for(replace(STANDING, roles=(SUPER,)), MEMBER, SESSION, NOW, ISSUE)
    assert claims.super_admin
    assert claims.permissions == (ALL_PERMISSIONS,)


def test_a_tenants_own_role_of_that_name_makes_no_super_admin() -> None:
    own = replace(SUPER, tenant_id=UUID(int=1))
    assert not claims_for(replace(STANDING, roles=(own,)), MEMBER, SESSION, NOW, ISSUE).super_admin
    in_membership = replace(MEMBER, roles=(SUPER,))
    assert not claims_for(STANDING, in_membership, SESSION, NOW, ISSUE).super_admin


def test_a_caller_has_the_identity_and_rights_of_the_token() -> None:
    caller = caller_of(claims_for(STANDING, MEMBER, SESSION, NOW, ISSUE))
    assert (caller.user_id, caller.session_id, caller.app_id) == (USER.id, SESSION.id, "shop")
    assert caller.tenant == OneTenant(UUID(int=1))
    assert not caller.is_global
    assert caller.may("read:users")
    assert not caller.may("delete:users")
    with pytest.raises(Forbidden):
        caller.ensure_may("delete:users")
    assert caller.issued[user_subject(USER.id)] == 4
    assert caller.issued[session_subject(SESSION.id)] == 0
    assert caller.issued.keys() >= {grants_subject(USER.id), tenant_subject(UUID(int=1)), role_subject(READER.id)}


def test_a_global_caller_has_no_tenant() -> None:
    caller = caller_of(claims_for(STANDING, None, SESSION, NOW, ISSUE))
    assert caller.is_global
    assert not caller.may("read:users")
    with pytest.raises(Forbidden):
        _ = caller.tenant


ID = UUID(int=1)
ISSUED = {
    user_subject(ID): 2,
    session_subject(ID): 0,
    grants_subject(ID): 1,
    tenant_subject(ID): 0,
    role_subject(ID): 3,
}


def test_each_kind_of_subject_has_a_different_name() -> None:
    assert len(ISSUED) == 5


def test_a_token_is_valid_while_no_version_has_risen() -> None:
    ensure_alive(ISSUED, ISSUED)
    ensure_alive(ISSUED, {})
    ensure_alive({}, {user_subject(ID): 9})


def test_a_version_lower_than_at_issue_revokes_nothing() -> None:
    ensure_alive(ISSUED, {user_subject(ID): 1})


@pytest.mark.parametrize(
    ("subject", "error"),
    [
        (user_subject(ID), TokenInvalid),
        (session_subject(ID), TokenInvalid),
        (grants_subject(ID), TokenExpired),
        (tenant_subject(ID), TokenExpired),
        (role_subject(ID), TokenExpired),
    ],
)
def test_a_risen_version_revokes_or_makes_stale(subject: str, error: type[Unauthorized]) -> None:
    with pytest.raises(error):
        ensure_alive(ISSUED, ISSUED | {subject: ISSUED[subject] + 1})


def test_revoked_beats_stale() -> None:
    with pytest.raises(TokenInvalid):
        ensure_alive(ISSUED, {subject: count + 1 for subject, count in ISSUED.items()})


def test_a_new_token_carries_zero_for_a_version_that_was_never_bumped() -> None:
    assert at_issue(["a", "b"], {"b": 3, "c": 1}) == {"a": 0, "b": 3}


NOW_OF_SIGNING_KEYS = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)


def key(kid: str, active_from: datetime) -> SigningKey:
    return SigningKey(kid=kid, public="{}", sealed="", active_from=active_from)


OLD, CURRENT, COMING = (
    key("old", NOW_OF_SIGNING_KEYS - 9 * HOUR),
    key("current", NOW_OF_SIGNING_KEYS),
    key("coming", NOW_OF_SIGNING_KEYS + HOUR),
)
KEYS = [COMING, OLD, CURRENT]


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (NOW_OF_SIGNING_KEYS - 10 * HOUR, OLD),
        (NOW_OF_SIGNING_KEYS - SECOND, OLD),
        (NOW_OF_SIGNING_KEYS, CURRENT),
        (NOW_OF_SIGNING_KEYS + HOUR - SECOND, CURRENT),
        (NOW_OF_SIGNING_KEYS + HOUR, COMING),
    ],
)
def test_the_newest_active_key_signs(now: datetime, expected: SigningKey) -> None:
    assert signing_key(KEYS, now) == expected


@pytest.mark.promise("identity, tokens and keys: Keys rotate with overlap while requests run")
@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (NOW_OF_SIGNING_KEYS - SECOND, [OLD, CURRENT, COMING]),
        (NOW_OF_SIGNING_KEYS + HOUR + LEEWAY - SECOND, [OLD, CURRENT, COMING]),
        (NOW_OF_SIGNING_KEYS + HOUR + LEEWAY, [CURRENT, COMING]),
        (NOW_OF_SIGNING_KEYS + 2 * HOUR + LEEWAY, [COMING]),
        (NOW_OF_SIGNING_KEYS + 999 * HOUR, [COMING]),
    ],
)
def test_a_signing_key_is_published_until_its_last_token_expires(now: datetime, expected: list[SigningKey]) -> None:
    assert living_keys(KEYS, now, HOUR) == expected


def test_the_signing_key_always_lives() -> None:
    for minutes in range(-900, 900, 7):
        now = NOW_OF_SIGNING_KEYS + timedelta(minutes=minutes)
        assert signing_key(KEYS, now) in living_keys(KEYS, now, HOUR)
