"""docs/browsers.md: its scripts work in a page of another host, and its answers are those of the service."""

import json
import re

import httpx
import pytest
from playwright.async_api import Browser

from adapters.http.static_files import ASSETS
from entrypoints.testing.app import ADMIN_EMAIL, ADMIN_PASSWORD
from tests.http.app import Json, TestApp
from tests.http.docs.pages.shop import FRONT, PAGE, in_browser, open_shop


@in_browser
@pytest.mark.promise(
    "declarations, documentation: A client for pages is served with its types: login, choice of tenant, one refresh "
    "for all tabs, errors of both forms in one, uploads with progress"
)
async def test_the_scripts_of_the_page_log_in_choose_a_tenant_and_show_errors(chromium: Browser) -> None:
    async with open_shop(chromium) as shop:
        await member_of_two_tenants(shop.app.client)
        tab = await shop.open()
        page = f"const {{ logIn, productNames, client }} = await import('{FRONT}/shop.js');"
        pick = "(tenants) => tenants.find((tenant) => tenant.name === 'Initech').id"
        log_in = f"await logIn('ada@example.com', {json.dumps(ADMIN_PASSWORD)}, {pick});"
        assert await tab.run(f"{page} {log_in} return productNames()") == []
        me = "return (await client.data('/api/auth/me')).email"
        assert await tab.run(f"{page} {me}") == "ada@example.com"
        saving = f"const {{ save, codeOf }} = await import('{FRONT}/saving.js'); const shown = [];"
        save = "const saved = await save({}, (field) => shown.push(field)); return [saved, shown.sort()]"
        assert await tab.run(f"{saving} {save}") == [None, ["name", "price", "sku"]]
        assert await tab.run(f"{saving} return (await save({{name: 'P', sku: 'SKU-1', price: 1}})).name") == "P"
        assert await tab.run(f"{saving} return [await codeOf('/api/x'), await codeOf('/api/products')]") == [
            "NOT_FOUND",
            "OK",
        ]


async def member_of_two_tenants(client: httpx.AsyncClient) -> str:
    """Makes ada@example.com, an administrator of Globex and Initech; returns the id of Initech."""

    async def data(path: str, body: Json) -> Json:
        answer = await client.post(path, json=body, headers=headers)
        assert answer.is_success, answer.text
        made: Json = answer.json()["data"]
        return made

    headers: dict[str, str] = {}
    root = await data("/api/auth/login", {"email": ADMIN_EMAIL, "password": ADMIN_PASSWORD})
    headers["Authorization"] = f"Bearer {root['token']}"
    globex = await data("/api/tenants", {"name": "Globex", "identifier": "globex"})
    initech = await data("/api/tenants", {"name": "Initech", "identifier": "initech"})
    ada = {"email": "ada@example.com", "password": ADMIN_PASSWORD, "fullName": "Ada", "roles": ["Admin"]}
    there = await data("/api/auth/switch-tenant", {"tenantId": globex["id"]})
    headers["Authorization"] = f"Bearer {there['token']}"
    made = await data("/api/users", ada)
    await data(f"/api/tenants/{initech['id']}/users", {"userId": made["id"], "roles": ["Admin"]})
    return str(initech["id"])


@pytest.mark.promise(
    "declarations, documentation: A client for pages is served with its types: login, choice of tenant, one refresh "
    "for all tabs, errors of both forms in one, uploads with progress"
)
async def test_the_answers_of_the_page_are_those_of_the_service(app: TestApp) -> None:
    shown = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
    initech = await member_of_two_tenants(app.client)

    async def answer(path: str, body: Json, whom: str | None = None) -> Json:
        answered: Json = (await app.call("POST", path, as_whom=whom, json=body)).json()
        return answered

    login = {"email": "ada@example.com", "password": ADMIN_PASSWORD}
    with_tenant = await answer("/api/auth/login", {**login, "preferredTenantId": initech})
    without = await answer("/api/auth/login", login)
    app.tokens["ada"] = without["data"]["token"]
    chosen = await answer("/api/auth/switch-tenant", {"tenantId": initech}, "ada")
    app.tokens["ada"] = chosen["data"]["token"]
    of_identity = await answer("/api/auth/login", {"password": "x"})
    of_entities = await answer("/api/products", {"name": "P", "price": 1}, "ada")
    answers = [with_tenant, without, chosen, of_identity, of_entities]
    assert [shape(block) for block in shown] == [shape(found) for found in answers]
    for block, found in zip(shown, answers, strict=True):
        for name in ("isGlobal", "tokenType", "requiresTenantSelection"):
            assert block.get("data", {}).get(name) == found.get("data", {}).get(name)
    assert shown[3]["errors"] == of_identity["errors"]
    assert shown[4]["error"]["details"] == of_entities["error"]["details"]


def shape(value: object) -> object:
    """Names of members in their order, and the types of their values."""
    if isinstance(value, dict):
        return [(name, shape(part)) for name, part in value.items()]
    if isinstance(value, list):
        return [shape(part) for part in value[:1]]
    return type(value).__name__


@pytest.mark.promise(
    "declarations, documentation: A client for pages is served with its types: login, choice of tenant, one refresh "
    "for all tabs, errors of both forms in one, uploads with progress"
)
async def test_the_client_is_served_with_its_types(app: TestApp) -> None:
    for name, kind in (("client.js", "text/javascript"), ("client.d.ts", "text/plain")):
        answer = await app.call("GET", f"/docs/{name}")
        assert (answer.status_code, answer.content) == (200, (ASSETS / name).read_bytes())
        assert answer.headers["Content-Type"] == f"{kind}; charset=utf-8"
        again = await app.call("GET", f"/docs/{name}", headers={"If-None-Match": answer.headers["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
    for name in ("client.ts", "client.mjs", "client.js.map"):
        assert (await app.call("GET", f"/docs/{name}")).status_code == 404


def test_types_and_page_name_all_that_the_client_has() -> None:
    script, types = (ASSETS / "client.js").read_text(), (ASSETS / "client.d.ts").read_text()
    (made,) = re.findall(r"return \{ (login.*) \};", script)
    members = {part.partition(":")[0] for part in made.split(", ")}
    (declared,) = re.findall(r"export interface Client \{\n(.*?)\n\}", types, re.DOTALL)
    assert members == set(re.findall(r"^  (\w+)[<(]", declared, re.MULTILINE))
    assert members == set(re.findall(r"^\| `(\w+)\(", PAGE, re.MULTILINE))
    exported = r"^export (?:async )?(?:function|class) (\w+)"
    assert re.findall(exported, script, re.MULTILINE) == ["ServiceError", "errorsOf", "makeClient"]
    assert set(re.findall(exported, types, re.MULTILINE)) == {"ServiceError", "errorsOf", "makeClient"}
    assert len(script.splitlines()) <= 200
