"""Events of members, roles and tenants in the feed, for readers with the permission of the list."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.builders import link_in, said_by
from tests.contracts.entities.changes.followed_entities import FOLLOWED
from tests.http.app import ADMIN, TestApp, open_test_app

READERS = "members,roles,tenants"


@pytest_asyncio.fixture
async def app() -> AsyncIterator[TestApp]:
    opened = await open_test_app(entities=FOLLOWED)
    await opened.login("root", ADMIN)
    await opened.make_tenant("acme")
    await opened.make_role("acme", "Reader", ["read:boards"])
    yield opened
    await opened.client.aclose()


async def page(app: TestApp, whom: str = "root in acme", **query: str) -> Any:
    return await app.call("GET", "/api/changes", as_whom=whom, params=query)


async def cursor(app: TestApp) -> str:
    found: str = (await page(app)).json()["data"]["cursor"]
    return found


async def events(app: TestApp, after: str, entities: str = READERS) -> list[Any]:
    answer = await page(app, after=after, entities=entities)
    assert answer.status_code == 200, answer.text
    items: list[Any] = answer.json()["data"]["items"]
    return items


async def done(app: TestApp, method: str, path: str, body: object = None, whom: str = "root in acme") -> Any:
    answer = await app.call(method, path, as_whom=whom, json=body)
    assert answer.status_code < 300, answer.text
    found: Any = answer.json() if answer.content else {}
    return found.get("data", found)


@pytest.mark.promise("GET /api/changes: entities=members,roles,tenants follow members, roles and the tenant")
async def test_members_are_followed(app: TestApp) -> None:
    start = await cursor(app)
    ann = await app.make_user("acme", "ann@acme.example", ["Reader"])
    await done(app, "POST", f"/api/users/{ann}/roles", {"roleNames": ["Member"]})
    await done(app, "PUT", f"/api/users/{ann}", {"fullName": "Ann Other"})
    await done(app, "PUT", f"/api/users/{ann}", {"isActive": False})
    await done(app, "DELETE", f"/api/users/{ann}")
    found = await events(app, start, "members")
    assert [each["action"] for each in found] == ["joined", "changed", "changed", "disabled", "left"]
    assert {each["id"] for each in found} == {ann}
    joined, _, renamed, disabled, left = found
    assert (joined["data"]["email"], joined["data"]["roles"]) == ("ann@acme.example", ["Reader"])
    assert (renamed["data"]["fullName"], renamed["data"]["roles"]) == ("Ann Other", ["Member"])
    assert (disabled["data"]["isActive"], left["data"]) == (False, None)
    assert (await page(app, after=start)).json()["data"]["items"] == []


async def test_roles_and_the_tenant_are_followed(app: TestApp) -> None:
    start = await cursor(app)
    roles = (await done(app, "GET", "/api/roles"))["items"]
    (reader,) = [role for role in roles if role["name"] == "Reader"]
    await done(app, "PUT", f"/api/roles/{reader['id']}", {"description": "reads"})
    tenant = await done(app, "GET", "/api/tenants/current")
    await done(app, "PUT", f"/api/tenants/{tenant['id']}", {"name": "Acme Ltd"}, "root")
    role, changed = await events(app, start)
    assert (role["entity"], role["id"], role["data"]["description"]) == ("roles", reader["id"], "reads")
    assert (changed["entity"], changed["id"], changed["data"]["name"]) == ("tenants", tenant["id"], "Acme Ltd")
    assert "security" not in changed["data"]["settings"]


async def test_an_accepted_invitation_is_followed(app: TestApp) -> None:
    start = await cursor(app)
    await done(app, "POST", "/api/invitations", {"email": "eve@acme.example", "roles": ["Reader"]})
    await app.services.relay.deliver()
    said = said_by(link_in(app.sent[-1]))
    form = {**said, "fullName": "Eve Example", "password": "correct horse battery", "isPasswordEncrypted": False}
    answer = await app.call("POST", "/api/auth/invitations/accept", json=form)
    assert answer.status_code < 300, answer.text
    joined, accepted = await events(app, start)
    assert (joined["action"], accepted["action"], joined["id"]) == ("joined", "accepted", accepted["id"])
    assert joined["data"] == accepted["data"]
    assert joined["data"]["email"] == "eve@acme.example"


async def test_events_need_the_permission_of_the_list(app: TestApp) -> None:
    start = await cursor(app)
    await app.make_user("acme", "ann@acme.example", ["Reader"])
    await app.login("ann", "ann@acme.example")
    for named in ("members", "roles"):
        assert (await page(app, "ann", after=start, entities=named)).status_code == 403
    assert (await page(app, "ann", after=start, entities="tenants")).json()["data"]["items"] == []


async def test_a_service_without_a_feed_logs_no_identity() -> None:
    app = await open_test_app()
    await app.login("root", ADMIN)
    await app.make_tenant("acme")
    await app.make_user("acme", "ann@acme.example", ["Member"])
    assert "changes" not in app.database.committed().tables
    await app.client.aclose()
