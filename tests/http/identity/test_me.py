"""/api/auth/me on the wire: the claims of the token, and the profile from the database."""

from uuid import UUID

import pytest
from msgspec.structs import replace

from application.ports.shared_memory import PROFILES_KEPT, TOMBSTONE, profile_key
from domain.scope import EveryTenant
from tests.http.identity.steps import join, move
from tests.http.two_tenants import TwoTenants, email_of


@pytest.mark.promise("GET /api/auth/me")
@pytest.mark.promise("identity, fields: Current user, basic: from the claims, without the database")
async def test_me_is_what_the_token_says(tenants: TwoTenants) -> None:
    data = (await tenants.call("clerk", "GET", "/api/auth/me")).json()["data"]
    assert data.keys() == {"id", "name", "email", "roles", "permissions"}
    assert (data["id"], data["email"], data["roles"]) == (tenants.users["clerk"], email_of("clerk"), ["Clerk"])


@pytest.mark.promise("identity, fields: Current user, basic: from the claims, without the database")
async def test_me_needs_no_database(tenants: TwoTenants) -> None:
    await tenants.call("clerk", "GET", "/api/auth/me")
    tenants.app.database.down = True
    assert (await tenants.call("clerk", "GET", "/api/auth/me")).status_code == 200


@pytest.mark.promise("GET /api/auth/me")
@pytest.mark.promise("GET /api/auth/me/complete")
@pytest.mark.promise(
    "identity, fields: Current user, profile: from the database, cached for 30 minutes, dropped by every change"
)
async def test_the_profile_is_the_database_s_and_remembered_for_half_an_hour(tenants: TwoTenants) -> None:
    paths = ("/api/auth/me?include=profile", "/api/auth/me/complete")
    first, second = [(await tenants.call("clerk", "GET", path)).json()["data"] for path in paths]
    assert first == second
    assert first.keys() == {
        "id", "email", "fullName", "phoneNumber", "profilePictureUrl", "emailConfirmed", "emailProved", "roles",
        "permissions", "tenants", "identities", "createdAt", "lastLoginAt",
    }  # fmt: skip
    assert first["tenants"] == [{"id": tenants.tenants["acme"], "name": "Acme", "isDefault": True}]
    await tenants.call("admin", "PUT", f"/api/users/{tenants.users['clerk']}", {"fullName": "Renamed"})
    assert (await tenants.call("clerk", "GET", paths[0])).json()["data"]["fullName"] == "Renamed"


async def test_the_profile_shows_what_became_of_a_tenant_at_once(tenants: TwoTenants) -> None:
    await join(tenants, "member", "other")
    path = f"/api/tenants/{tenants.tenants['other']}"

    async def seen() -> list[str]:
        names = []
        for name in ("member", "clerk"):
            answer = await tenants.call(name, "GET", "/api/auth/me/complete")
            names.append(",".join(tenant["name"] for tenant in answer.json()["data"]["tenants"]))
        return names

    await tenants.app.login("member", email_of("member"), tenants.tenants["acme"])
    move(tenants, TOMBSTONE)
    assert await seen() == ["Acme,Other", "Acme"]
    await tenants.call("root", "PUT", path, {"name": "Otherwise"})
    assert await seen() == ["Acme,Otherwise", "Acme"]
    await tenants.call("root", "PUT", f"/api/tenants/{tenants.tenants['acme']}", {"name": "Ac"})
    assert await seen() == ["Ac,Otherwise", "Ac"]
    await tenants.call("root", "PUT", path, {"isActive": False})
    assert await seen() == ["Ac,Otherwise", "Ac"]
    await tenants.call("root", "DELETE", path)
    assert await seen() == ["Ac", "Ac"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("DELETE", "/api/users/{member}", None),
        ("DELETE", "/api/tenants/{acme}/users/{member}", None),
        ("POST", "/api/users/{member}/roles", {"roleNames": ["Reader"]}),
        ("PUT", "/api/users/{member}", {"fullName": "Renamed"}),
    ],
)
async def test_the_profile_of_whoever_is_gone_or_changed_is_remembered_no_longer(
    tenants: TwoTenants, method: str, path: str, body: object
) -> None:
    key = profile_key(UUID(tenants.users["member"]))
    move(tenants, TOMBSTONE)
    assert (await tenants.call("member", "GET", "/api/auth/me/complete")).status_code == 200
    assert await tenants.app.adapters.cache.get(key) is not None
    path = path.format(**tenants.users, **tenants.tenants)
    assert (await tenants.call("admin", method, path, body)).status_code == 200
    assert await tenants.app.adapters.cache.get(key) is None


async def test_the_profile_is_kept_while_no_tenant_changes(tenants: TwoTenants) -> None:
    await tenants.call("root", "PUT", f"/api/tenants/{tenants.tenants['other']}", {"name": "Otherwise"})
    move(tenants, TOMBSTONE)
    first = await tenants.call("clerk", "GET", "/api/auth/me/complete")
    async with tenants.app.adapters.database.transaction(EveryTenant()) as tx:
        state = await tx.users.state(UUID(tenants.users["clerk"]))
        assert state is not None
        await tx.users.save(replace(state.user, full_name="Unseen"), state.user)
    assert (await tenants.call("clerk", "GET", "/api/auth/me/complete")).json() == first.json()


async def test_a_profile_that_another_version_stored_is_read_anew(tenants: TwoTenants) -> None:
    key = profile_key(UUID(tenants.users["clerk"]))
    move(tenants, TOMBSTONE)
    first = await tenants.call("clerk", "GET", "/api/auth/me/complete")
    stored = await tenants.app.adapters.cache.get(key)
    assert stored is not None
    other = stored.replace(b'"emailProved":false,', b"")
    assert other != stored
    await tenants.app.adapters.cache.put(key, other, PROFILES_KEPT)
    assert (await tenants.call("clerk", "GET", "/api/auth/me/complete")).json() == first.json()
    assert await tenants.app.adapters.cache.get(key) == stored


@pytest.mark.promise("PUT /api/auth/me")
async def test_everybody_changes_their_own_name_and_nothing_more(tenants: TwoTenants) -> None:
    path = "/api/auth/me"
    await tenants.call("member", "GET", f"{path}/complete")
    change = {"fullName": "Ada Byron", "phoneNumber": "+49 30 1", "profilePictureUrl": "https://example.com/a.png"}
    answer = await tenants.call("member", "PUT", path, change)
    assert answer.status_code == 200
    for told in (answer.json()["data"], (await tenants.call("member", "GET", f"{path}/complete")).json()["data"]):
        assert {name: told[name] for name in change} == change
    cleared = (await tenants.call("member", "PUT", path, {"phoneNumber": None})).json()["data"]
    assert (cleared["phoneNumber"], cleared["fullName"]) == (None, "Ada Byron")
    trail = (await tenants.call("admin", "GET", "/api/audit-events?action=user.changed")).json()["data"]["items"]
    me = tenants.users["member"]
    assert [(line["actorId"], line["targetId"]) for line in trail] == [(me, me)] * 2
    await tenants.call("member", "PUT", path, {"fullName": "Ada Byron"})
    assert (await tenants.call("admin", "GET", "/api/audit-events?action=user.changed")).json()["data"][
        "totalCount"
    ] == 2, "a change of nothing is none"


async def test_a_wrong_profile_is_told_field_by_field(tenants: TwoTenants) -> None:
    wrong = {"fullName": "", "phoneNumber": "1" * 1_000, "profilePictureUrl": "javascript:alert(1)"}
    answer = await tenants.call("member", "PUT", "/api/auth/me", wrong)
    assert (answer.status_code, sorted(error["field"] for error in answer.json()["errors"])) == (400, sorted(wrong))
    for field, value in (("email", "other@acme.example"), ("roles", ["Admin"]), ("isActive", False)):
        answer = await tenants.call("member", "PUT", "/api/auth/me", {field: value})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, field)
    assert (await tenants.app.call("PUT", "/api/auth/me", json={"fullName": "X"})).status_code == 401
