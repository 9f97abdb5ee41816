"""People who may only read, and little: each opens every screen, is refused nothing and offered nothing to write."""

import pytest
from playwright.async_api import expect

from tests.console.conftest import Visitor
from tests.console.looks.test_accessibility import violations
from tests.http.app import TestApp

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

ALWAYS = {"Home", "Settings", "Somebody Else"}
READERS = {
    "products": (["read:products"], {"Products"}),
    "users": (["read:users"], {"Members"}),
    "roles": (["read:roles"], {"Roles"}),
    "service accounts": (["read:service-accounts"], {"Service accounts"}),
    "settings": (["read:tenant-settings"], set[str]()),
    "audit": (["read:audit-events"], {"Audit trail"}),
    "users and invitations": (["read:users", "read:invitations"], {"Members"}),
}
"""What each role holds, and the links that the navigation has for it beside those that everybody has."""

SCREENS = [
    "",
    *(
        "rows/products",
        "rows/products?includeDeleted=true",
        "rows/products/new",
        "rows/products/import",
        "rows/products/{product}",
    ),
    *(
        "rows/products/{product}?tab=reviews",
        "rows/products/{product}?tab=history",
        "rows/categories",
        "rows/applications",
    ),
    *("people", "people?tab=invitations", "people?tab=joining", "people/{user}", "roles", "keys", "keys/{account}"),
    *("audit", "audit/event/{event}", "settings", "account", "tenants", "tenants/{tenant}", "system"),
]
WRITES = [
    *("New", "Save", "Save security", "Delete", "Restore", "Undo this change", "Import"),
    *("Add member", "Invite", "Send again", "Revoke", "Let in", "Decline", "Disable", "Enable", "Remove", "Unlock"),
    *(
        "Reset second factors",
        "Add role",
        "Add service account",
        "New key",
        "Rotate",
        "Add domain",
        "Pass ownership on",
    ),
]
"""Names of what the console offers to those who may write."""


async def make_things(app: TestApp) -> dict[str, str]:
    """Ids for the addresses of screens; there is a thing of each kind."""
    body = {"name": "Robot", "roles": ["Reader"]}
    account = (await app.call("POST", "/api/service-accounts", as_whom="acme", json=body)).json()["data"]["id"]
    await app.call("POST", f"/api/service-accounts/{account}/keys", as_whom="acme", json={"name": "Key"})
    await app.call("POST", "/api/invitations", as_whom="acme", json={"email": "new@acme.example", "roles": ["Reader"]})
    domain = {"domain": "guests.example", "mode": "request"}
    await app.call("POST", "/api/tenants/current/domains", as_whom="acme", json=domain)
    products = (await app.call("GET", "/api/products?pageSize=1", as_whom="acme")).json()["data"]["items"]
    users = (await app.call("GET", "/api/users?search=reader", as_whom="acme")).json()["items"]
    events = (await app.call("GET", "/api/audit-events?pageSize=1", as_whom="acme")).json()["data"]["items"]
    tenant = (await app.call("GET", "/api/tenants/current", as_whom="acme")).json()["data"]["id"]
    ids = {"product": products[0]["id"], "user": users[0]["id"], "event": events[0]["id"]}
    return {**ids, "account": account, "tenant": tenant}


async def settle(visitor: Visitor, since: int) -> list[str]:
    """Waits until nothing more is asked for; returns what was refused."""
    seen, quiet = since, 0
    while quiet < 2:
        # what a screen asks for, it asks for after it was painted
        await visitor.page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
        quiet = quiet + 1 if seen == len(visitor.requests) else 0
        while seen < len(visitor.requests):
            seen += 1
            await visitor.requests[seen - 1].response()
        await expect(visitor.page.locator(".loading")).to_have_count(0)
    answers = [await request.response() for request in visitor.requests[since:]]
    return [
        f"refused {answer.status} {answer.url}" for answer in answers if answer is not None and answer.status >= 400
    ]


async def offered(visitor: Visitor, screen: str) -> list[str]:
    """What the screen offers to write, and errors that it tells."""
    page = visitor.page
    main = page.get_by_role("main")
    for menu in await main.get_by_role("button", name="More", exact=True).all():
        await menu.click()
    found = []
    for name in WRITES:
        control = main.get_by_role("button", name=name, exact=True).or_(main.get_by_role("link", name=name, exact=True))
        if await control.count():
            found.append(f"offers {name}")
    told = await page.get_by_role("alert").all_inner_texts() + await page.locator(".toast.bad").all_inner_texts()
    # everybody changes their own account
    fields = "form.panel :is(input, textarea, select):enabled:not([name=why])"
    is_filled = screen != "account" and await main.locator(fields).count()
    return found + [f"tells {text!r}" for text in told] + ["has a form to fill"] * bool(is_filled)


EACH_TIME = ("users and invitations",)
"""Those that `make end-to-end` takes; each opens all screens in eleven seconds, and `make long` takes the others."""


@pytest.mark.promise(
    "console, attacks: People who may only read one thing open every screen: nothing is refused, and nothing to write "
    "is offered"
)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in EACH_TIME else pytest.mark.long) for name in READERS]
)
async def test_readers_open_every_screen_and_are_refused_nothing(visitor: Visitor, name: str) -> None:
    page, app = visitor.page, visitor.service.app
    permissions, links = READERS[name]
    await visitor.service.renew_tokens()
    ids = await make_things(app)
    await app.make_role("acme", "Looker", permissions)
    await app.make_user("acme", "looker@acme.example", ["Looker"])
    await visitor.enter("nowhere", "looker@acme.example")
    await settle(visitor, 0)
    shown = await page.get_by_role("navigation").get_by_role("link").all_inner_texts()
    assert set(shown) == ALWAYS | links
    found = []
    for screen in SCREENS:
        since = len(visitor.requests)
        await visitor.go(screen.format(**ids))
        refused = await settle(visitor, since)
        found += [f"{screen}: {what}" for what in (*refused, *await offered(visitor, screen))]
    assert found == []
    assert await violations(visitor) == []
