"""Every operation of the document, answered as it says; tests/http/app.py holds the answers of all tests against it."""

from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any, NamedTuple, cast
from uuid import UUID

import httpx
import pytest
import pytest_asyncio

from adapters.memory.database import MemoryDatabase
from adapters.memory.mail import MemoryMailer
from adapters.memory.store import Store
from domain.scope import EveryTenant
from tests.builders import link_in, said_by
from tests.http.app import ADMIN, PASSWORD, Json, TestApp
from tests.http.described import Description
from tests.http.docs.elsewhere import ELSEWHERE
from tests.http.docs.joining_answers import join_by_domain
from tests.http.identity.factors.factors import Person, ask_for_factors
from tests.http.identity.factors.steps import claims_of


class Shelf(NamedTuple):
    """An entity with bodies for its operations: ``{n}`` is another number each time."""

    plural: str
    body: Json
    change: Json
    csv: str
    include: str = ""
    key: str = ""


SHELVES = [
    Shelf("categories", {"name": "C{n}"}, {"description": None}, "name\nC{n}\n", "products", "name"),
    Shelf("products", {"name": "P", "sku": "S-{n}", "price": 1.5}, {"stock": 2}, "sku\nS\n", "category,reviews", "sku"),
    Shelf("reviews", {"productId": "{product}", "rating": 5, "author": "A"}, {"text": "T"}, "rating\n9\n", "product"),
    Shelf("currencies", {"code": "A{letters}", "name": "N"}, {"name": "M"}, "code,name\nzz,Z\n", key="code"),
    Shelf("applications", {"appId": "app-{n}", "name": "N"}, {"isActive": False}, "appId,name\n,\n", key="appId"),
]


class Caller:
    """Calls as a super-admin in ``acme``, with another number in each body."""

    def __init__(self, app: TestApp) -> None:
        self.app, self.numbers, self.product = app, iter(range(10, 1_000)), ""

    def filled(self, value: Any) -> Any:
        n = next(self.numbers)
        texts = {"{n}": str(n), "{letters}": chr(65 + n // 26 % 26) + chr(65 + n % 26), "{product}": self.product}
        if isinstance(value, dict):
            return {name: self.filled(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self.filled(part) for part in value]
        for placeholder, text in texts.items():
            value = value.replace(placeholder, text) if isinstance(value, str) else value
        return value

    async def __call__(self, method: str, path: str, body: object = None, **more: Any) -> httpx.Response:
        return await self.app.call(method, path, as_whom="root in acme", json=self.filled(body), **more)

    async def done(self, method: str, path: str, body: object = None, **more: Any) -> Any:
        answer = await self(method, path, body, **more)
        assert answer.is_success, f"{method} {path}: {answer.text}"
        return answer.json().get("data") if answer.headers.get("content-type") == "application/json" else None


@pytest_asyncio.fixture
async def call(app: TestApp) -> AsyncIterator[Caller]:
    caller = Caller(app)
    caller.product = (await caller.done("POST", "/api/products", {"name": "P", "sku": "FIRST", "price": 1}))["id"]
    yield caller


def description_of(app: TestApp) -> Description:
    hook, *_ = app.client.event_hooks["response"]
    return cast(Description, cast(Any, hook).__self__)


def hold_reads(app: TestApp) -> set[str]:
    """From now on every GET must leave the stored state as it was. The answer collects the paths that were read."""
    paths: set[str] = set()
    before: dict[httpx.Request, Store] = {}

    async def keep(request: httpx.Request) -> None:
        before[request] = cast(MemoryDatabase, app.adapters.database).committed().copy()

    async def compare(response: httpx.Response) -> None:
        request, stored = response.request, before.pop(response.request)
        if request.method in ("GET", "HEAD"):
            paths.add(request.url.path)
            changed = cast(MemoryDatabase, app.adapters.database).committed()
            assert stored == changed, f"{request.method} {request.url} changes what is stored"

    hooks = app.client.event_hooks
    app.client.event_hooks = {"request": [keep], "response": [*hooks["response"], compare]}
    return paths


@pytest.mark.promise(
    "declarations, OpenAPI document: each operation answers as the document says, every answer of the HTTP tests is "
    "held against it, and one that is not described is found"
)
async def test_every_operation_is_answered_as_the_document_says(call: Caller) -> None:
    read = hold_reads(call.app)
    for shelf in SHELVES:
        await use_entity(call, shelf)
    await read_what_is_read_only(call)
    await call.done("PUT", "/api/auth/me", {"fullName": "Ada Byron"})
    await administer(call)
    await use_keys(call)
    await use_account(call)
    await invite(call)
    await change_owners(call)
    await use_second_factors(call.app)
    await join_by_domain(call.app)
    description = description_of(call.app)
    # What is read without an id needs no line of its own.
    lists = {
        path
        for path, item in description.document["paths"].items()
        if "get" in item and "{" not in path and item["get"]["operationId"] not in ELSEWHERE
    }
    for path in sorted(lists - read):
        assert (await call("GET", path)).status_code == 200, path
    operations = [operation for path in description.document["paths"].values() for operation in path.values()]
    answered = {name for name, status in description.seen if status < 300}
    assert {operation["operationId"] for operation in operations} - ELSEWHERE == answered - ELSEWHERE
    gets = {path["get"]["operationId"] for path in description.document["paths"].values() if "get" in path}
    assert len(read) >= len(gets - ELSEWHERE)


async def use_entity(call: Caller, shelf: Shelf) -> None:
    root = f"/api/{shelf.plural}"
    made = [await call.done("POST", root, shelf.body) for _ in range(3)]
    row = f"{root}/{made[0]['id']}"
    include = f"&include={shelf.include}" if shelf.include else ""
    for query in (f"?pageSize=2{include}", "?fields=id&count=none", "?count=estimated"):
        assert (await call.done("GET", root + query))["items"]
    for query in ("", "?fields=version", include.replace("&", "?")):
        assert (await call.done("GET", row + query))["id"] == made[0]["id"]
    await call.done("PUT", row, shelf.change)
    await call.done("PATCH", row, shelf.change)
    unchanged = {"If-None-Match": (await call("GET", row)).headers["ETag"]}
    again = 200 if shelf.plural == "applications" else 304  # of an application, not all see all fields
    assert (await call("GET", row, headers=unchanged)).status_code == again
    batch = await call.done("POST", f"{root}/batch", {"items": [shelf.body, shelf.body]})
    ids = [item["id"] for item in batch["items"]]
    await call.done("PUT", f"{root}/batch", {"items": [{"id": ids[0], **shelf.change}]})
    await call.done("DELETE", f"{root}/batch", {"ids": ids})
    await call.done("POST", f"{root}/batch/delete", {"ids": [made[1]["id"]]})
    if shelf.key:
        await call.done("POST", f"{root}/batch/upsert", {"key": shelf.key, "items": [shelf.body]})
    operations = [{"op": "create", "entity": shelf.plural, "values": shelf.body}]
    await call.done("POST", "/api/operations", {"operations": operations})
    if shelf.plural in ("categories", "products"):
        await call.done("GET", f"{row}/history")
    assert (await call("DELETE", row)).status_code == 204
    if shelf.plural != "currencies":
        await call.done("POST", f"{row}/restore")
    for form in ("csv", "json", "xlsx", "parquet"):
        assert (await call("GET", f"{root}/export?format={form}")).status_code == 200
    measures = "count,distinct:id,min:createdAt" if shelf.plural != "applications" else "count"
    assert (await call.done("GET", f"{root}/summary?measures={measures}"))["groups"][0]["count"] > 0
    await call.done("POST", f"{root}/import", files={"file": ("rows.csv", call.filled(shelf.csv))})
    await call("POST", f"{root}/import", files={"file": ("rows.csv", "x\n1\n")}, data={"options": '{"atomic": true}'})


async def use_keys(call: Caller) -> None:
    path = "/api/service-accounts"
    account = (await call.done("POST", path, {"name": "R{n}", "roles": ["Admin"]}))["id"]
    await call.done("GET", path)
    await call.done("GET", f"{path}/{account}")
    await call.done("PUT", f"{path}/{account}", {"description": "D"})
    key = await call.done("POST", f"{path}/{account}/keys", {"name": "K"})
    await call.done("GET", f"{path}/{account}/keys")
    form = {"grant_type": "client_credentials", "client_id": account, "client_secret": key["key"]}
    assert (await call.app.client.post("/api/auth/token", data=form)).status_code == 200
    assert (await call.app.client.get("/.well-known/oauth-authorization-server")).status_code == 200
    new = await call.done("POST", f"{path}/{account}/keys/{key['id']}/rotate", {"overlapMinutes": 0})
    await call.done("DELETE", f"{path}/{account}/keys/{new['id']}")
    await call.done("DELETE", f"{path}/{account}")


async def read_what_is_read_only(call: Caller) -> None:
    for plural in ("members", "audit-events"):
        page = await call.done("GET", f"/api/{plural}?pageSize=1")
        await call.done("GET", f"/api/{plural}/{page['items'][0]['id']}")
        assert (await call("GET", f"/api/{plural}/export?format=json")).status_code == 200
        assert page["nextCursor"] or plural == "members"


async def end_sessions(call: Caller) -> None:
    admin = (await call.app.call("GET", "/api/auth/me", as_whom="acme")).json()["data"]["id"]
    (session,) = (await call.done("GET", f"/api/users/{admin}/sessions"))["items"]
    await call.done("DELETE", f"/api/users/{admin}/sessions/{session['id']}")
    await call.done("DELETE", f"/api/users/{admin}/sessions")


async def administer(call: Caller) -> None:
    role = await call.done("POST", "/api/roles", {"name": "Packer", "permissions": ["read:products"]})
    await call.done("PUT", f"/api/roles/{role['id']}", {"description": "Packs"})
    await call.done("GET", f"/api/roles/{role['id']}")
    new = {"email": "p@acme.example", "password": PASSWORD, "fullName": "P", "roles": ["Packer"]}
    user = (await call.done("POST", "/api/users", new))["id"]
    for path in ("/api/users", f"/api/users/{user}", "/api/roles", "/api/permissions", "/api/tenants/current"):
        assert (await call("GET", path)).status_code == 200
    await call.done("PUT", f"/api/users/{user}", {"phoneNumber": "+49 1"})
    await call.done("POST", f"/api/users/{user}/roles", {"roleNames": []})
    await call.done("POST", f"/api/users/{user}/unlock")
    await call.done("GET", f"/api/users/{user}/permissions")
    await end_sessions(call)
    await call.done("POST", "/api/permissions", {"name": "pack:parcels"})
    tenant = (await call.done("POST", "/api/tenants", {"name": "T", "identifier": "third"}))["id"]
    await call.done("PUT", "/api/tenants/current/settings", {"branding": {"name": "Acme"}})
    await call.done("GET", "/api/tenants/current/settings")
    await call.done("GET", "/api/tenants")
    await call.done("GET", f"/api/tenants/{tenant}")
    await call.done("PUT", f"/api/tenants/{tenant}", {"settings": {"timezone": "Europe/Berlin"}})
    for _ in range(2):
        await call.done("POST", f"/api/tenants/{tenant}/users", {"userId": user, "roles": []})
    await call.done("GET", f"/api/tenants/{tenant}/users")
    await call.done("DELETE", f"/api/tenants/{tenant}/users/{user}")
    await call.done("DELETE", f"/api/users/{user}")
    await call.done("DELETE", f"/api/roles/{role['id']}")
    await call.done("DELETE", f"/api/tenants/{tenant}")


async def invite(call: Caller) -> None:
    app, mailer = call.app, call.app.adapters.mailer
    assert isinstance(mailer, MemoryMailer)
    path = "/api/auth/invitations"
    # the account of use_account, whose address is proved
    await app.login("ada", "ada@example.com")
    await app.login("acme", "admin@acme.example")

    async def token(email: str) -> str:
        made = await app.call("POST", "/api/invitations", as_whom="acme", json={"email": email})
        again = f"/api/invitations/{made.json()['data']['id']}/resend"
        assert (await app.call("POST", again, as_whom="acme")).status_code == 200
        while await app.services.relay.deliver():
            pass
        return said_by(link_in(mailer.sent[-1]))["token"]

    link = {"token": await token("new@example.com")}
    await app.call("POST", f"{path}/preview", json=link)
    await app.call("POST", f"{path}/accept", json={**link, "fullName": "New", "password": PASSWORD})
    await app.call("POST", f"{path}/decline", json={"token": await token("other@example.com")})
    await app.call("POST", f"{path}/accept", as_whom="ada", json={"token": await token("ada@example.com")})
    items = {"items": [{"email": "ada@example.com"}, {"email": "b@example.com"}]}
    await app.call("POST", "/api/invitations/batch", as_whom="acme", json=items)
    (received,) = (await app.call("GET", path, as_whom="ada")).json()["data"]
    await app.call("POST", f"{path}/{received['id']}/accept", as_whom="ada")
    listed = await app.call("GET", "/api/invitations?status=pending", as_whom="acme")
    (pending,) = listed.json()["data"]["items"]
    await app.call("DELETE", f"/api/invitations/{pending['id']}", as_whom="acme")


async def change_owners(call: Caller) -> None:
    app = call.app
    # Logins are limited by the minute.
    app.clock.move(timedelta(minutes=1))
    await app.login("ada", "ada@example.com")
    acme = (await app.call("GET", "/api/tenants/current", as_whom="acme")).json()["data"]["id"]
    members = (await app.call("GET", f"/api/tenants/{acme}/users", as_whom="acme")).json()["data"]["items"]
    ids = {member["email"]: member["id"] for member in members}
    await app.login("root", ADMIN)
    owner = f"/api/tenants/{acme}/users/{ids['admin@acme.example']}"
    assert (await app.call("PUT", owner, as_whom="root", json={"isOwner": True})).status_code == 200
    body = {"userId": ids["reader@acme.example"]}
    await app.call("POST", "/api/tenants/current/transfer", as_whom="acme", json=body)
    await app.call("POST", f"/api/tenants/{acme}/users", as_whom="root", json={**body, "roles": ["Admin"]})
    await app.call("POST", "/api/tenants/current/transfer", as_whom="acme", json=body)
    await app.call("POST", "/api/tenants/current/leave", as_whom="ada")
    await app.login("ada", "ada@example.com")
    async with app.services.database.transaction(EveryTenant()) as tx:
        await tx.social.link("google", "1", UUID(ids["ada@example.com"]), app.services.clock.now())
    await app.call("POST", "/api/auth/me/email", as_whom="ada", json={"email": "ada@new.example"})
    for path in ("identities", "me/export"):
        assert (await app.call("GET", f"/api/auth/{path}", as_whom="ada")).status_code == 200
    await app.call("DELETE", "/api/auth/identities/google", as_whom="ada")
    await app.call("DELETE", "/api/auth/me", as_whom="ada")


async def use_account(call: Caller) -> None:
    app, email, mailer = call.app, "ada@example.com", call.app.adapters.mailer
    assert isinstance(mailer, MemoryMailer)
    post: Callable[..., Any] = app.call

    async def mailed(path: str, **more: object) -> None:
        await app.services.relay.deliver()
        body = said_by(link_in(mailer.sent[-1])) | more
        assert (await post("POST", f"/api/auth/{path}", json=body)).status_code == 200

    await post("POST", "/api/auth/register", json={"email": email, "password": PASSWORD, "fullName": "Ada"})
    await post("POST", "/api/auth/resend-confirmation", json={"email": email})
    await mailed("confirm-email")
    await post("POST", "/api/auth/request-password-reset", json={"email": email})
    await mailed("reset-password", newPassword=PASSWORD)
    await app.login("ada", email)
    # with a Tenant Token, which somebody of no tenant has not
    change = {"currentPassword": PASSWORD, "newPassword": "another fine password"}
    assert (await post("POST", "/api/auth/change-password", as_whom="reader", json=change)).status_code == 200
    data = await app.login("root", ADMIN)
    for path in ("me", "me?include=profile", "me/complete"):
        assert (await post("GET", f"/api/auth/{path}", as_whom="root")).status_code == 200
    refreshed = await post("POST", "/api/auth/refresh", json={"refreshToken": data["refreshToken"]})
    app.tokens["root"] = refreshed.json()["data"]["token"]
    renewed = await post("POST", "/api/auth/reauthenticate", as_whom="root", json={"password": PASSWORD})
    app.tokens["root"] = renewed.json()["data"]["token"]
    current = (await post("GET", "/api/tenants/current", as_whom="root")).json()["data"]["id"]
    await post("POST", "/api/auth/switch-tenant", as_whom="root", json={"tenantId": current})
    await app.login("root", ADMIN)
    sessions = (await post("GET", "/api/auth/sessions", as_whom="root")).json()["data"]["items"]
    assert (await post("DELETE", f"/api/auth/sessions/{sessions[-1]['id']}", as_whom="root")).status_code == 200
    await app.login("root", ADMIN)
    assert (await post("POST", "/api/auth/logout", as_whom="root")).status_code == 200


async def use_second_factors(app: TestApp) -> None:
    await app.login("root in acme", ADMIN, claims_of(app.tokens["acme"])["tenant_id"])
    await app.make_user("acme", "late@acme.example", [])
    ada = Person(app, "late@acme.example", "ada")
    assert (await ada.login()).status_code == 200
    await ada.add_app()
    made = await ada.add_passkey()
    renamed = await app.call("PUT", f"/api/auth/factors/{made['id']}", as_whom="ada", json={"name": "Laptop"})
    assert renamed.status_code == 200
    assert (await app.call("GET", "/api/auth/factors", as_whom="ada")).status_code == 200
    await ada.done("factors/recovery-codes", {}, 201)
    assert (await ada.show_passkey(await ada.ticket())).status_code == 200
    assert (await ada.passkey_login()).status_code == 200
    await ada.done("reauthenticate/passkey", {})
    assert (await app.call("DELETE", f"/api/auth/factors/{made['id']}", as_whom="ada")).status_code == 200
    user_id = (await app.call("GET", "/api/auth/me", as_whom="ada")).json()["data"]["id"]
    await app.login("root", ADMIN)
    assert (await app.call("DELETE", f"/api/users/{user_id}/factors", as_whom="root")).status_code == 200
    await be_asked_for_factors(app)


async def be_asked_for_factors(app: TestApp) -> None:
    reader = Person(app, "late@acme.example", "late")
    await ask_for_factors(app, claims_of(app.tokens["acme"])["tenant_id"])
    ticket = (await reader.login()).json()["mfa"]["ticket"]
    begun = (await reader.post("mfa/enrol", {"ticket": ticket, "kind": "totp"})).json()["data"]
    body = {"ticket": ticket, "state": begun["state"], "code": reader.code(secret=begun["secret"])}
    assert (await reader.post("mfa/enrol/finish", body)).status_code == 200
