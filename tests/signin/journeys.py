"""Steps that tests of the sign-in pages take."""

from typing import Any
from urllib.parse import urlencode

import pyotp

from tests.console.conftest import Visitor
from tests.http.app import PASSWORD, Json
from tests.http.docs.test_account_pages import told as message_told
from tests.http.identity.hosted_login.handing_over import CHALLENGE, Shop, query_of
from tests.signin.conftest import SHOP

STATE = "a state of the shop's & more"


def asked(**values: str) -> str:
    given = {"app": "shop", "redirect": f"{SHOP}/in", "state": STATE, "code_challenge": CHALLENGE, **values}
    return "?" + urlencode({name: value for name, value in given.items() if value})


async def open_page(visitor: Visitor, path: str = "login", query: str | None = None) -> None:
    await visitor.page.goto(f"{visitor.home}/account/{path}{asked() if query is None else query}")


async def sign_in(visitor: Visitor, email: str, password: str = PASSWORD) -> None:
    await visitor.page.get_by_label("E-mail").fill(email)
    await visitor.page.get_by_label("Password").fill(password)
    await visitor.page.keyboard.press("Enter")


async def sign_in_in_german(visitor: Visitor, email: str, password: str = PASSWORD) -> None:
    visitor.service.let_time_pass()
    await visitor.page.get_by_label("E-Mail").fill(email)
    await visitor.page.get_by_label("Passwort").fill(password)
    await visitor.page.keyboard.press("Enter")


async def at_the_shop(visitor: Visitor, path: str = "/in?") -> dict[str, str]:
    """The query that the shop is given; the address has nothing else."""
    await visitor.page.wait_for_url(f"{SHOP}/**")
    url = visitor.page.url
    assert url.startswith(f"{SHOP}{path}")
    assert "#" not in url
    return query_of(url)


async def exchanged(visitor: Visitor) -> Json:
    """The login that the shop gets for the code."""
    given = await at_the_shop(visitor)
    assert given.keys() == {"code", "state"}
    assert given["state"] == STATE
    answer = await Shop(visitor.service.app).exchange(given["code"])
    assert answer.status_code == 200, answer.text
    data: Json = answer.json()["data"]
    return data


async def told(visitor: Visitor, text: str) -> None:
    await message_told(visitor.page, text)


def code(visitor: Visitor, secret: str) -> str:
    return pyotp.TOTP(secret).at(int(visitor.service.app.adapters.clock.now().timestamp()))


async def someone(visitor: Visitor, name: str, tenant: str = "acme", **more: Any) -> str:
    """A new member of a tenant; the address."""
    email = f"{name}@{tenant}.example"
    await visitor.service.app.make_user(tenant, email, more.get("roles", ["Admin"]))
    return email
