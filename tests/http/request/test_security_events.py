"""Refusals in the access log: who tried to pass which control, and nothing of what they sent."""

from typing import Any

import pytest

from application.ports.access_log import AccessLine
from tests.builders import new_id
from tests.http.app import PASSWORD, TestApp, open_test_app
from tests.http.conftest import seed

SENT = "a-value-that-somebody-sent"
WRONG_LOGIN = {"email": "reader@acme.example", "password": SENT, "isPasswordEncrypted": False}
PRODUCT = {"name": "Kettle", "sku": "KET-1", "price": 1}
JSON = {"Content-Type": "application/json"}

Try = tuple[str, str, dict[str, Any]]

TRIES: dict[str, tuple[Try, str]] = {
    "a field that nobody may send": (
        ("POST", "/api/products", {"json": {**PRODUCT, "nonsense": SENT}, "as_whom": "acme"}),
        "VALIDATION_ERROR",
    ),
    "a name that stands twice": (
        ("POST", "/api/products", {"content": b'{"name": "a", "name": "b"}', "headers": JSON, "as_whom": "acme"}),
        "BAD_REQUEST",
    ),
    "a body of another type": (
        ("POST", "/api/products", {"content": SENT.encode(), "headers": {"Content-Type": "text/x"}, "as_whom": "acme"}),
        "UNSUPPORTED_MEDIA_TYPE",
    ),
    "a body that is too large": (
        ("POST", "/api/auth/login", {"content": b'"' + b"a" * 20_000 + b'"', "headers": JSON}),
        "PAYLOAD_TOO_LARGE",
    ),
    "an unknown parameter": (("GET", f"/api/products?{SENT}=1", {"as_whom": "acme"}), "VALIDATION_ERROR"),
    "a rule of the business": (
        ("POST", "/api/products", {"json": {**PRODUCT, "status": "live"}, "as_whom": "acme"}),
        "UNPROCESSABLE_ENTITY",
    ),
    "a permission that is missing": (
        ("POST", "/api/products", {"json": PRODUCT, "as_whom": "reader"}),
        "FORBIDDEN",
    ),
    "another tenant": (
        ("GET", "/api/products", {"headers": {"X-Tenant-Scope": "all"}, "as_whom": "acme"}),
        "FORBIDDEN",
    ),
    "a row of nobody": (("GET", f"/api/products/{new_id()}", {"as_whom": "acme"}), "NOT_FOUND"),
    "a forged token": (("GET", "/api/products", {"headers": {"Authorization": f"Bearer {SENT}"}}), "TOKEN_INVALID"),
    "no token": (("GET", "/api/products", {}), "UNAUTHORIZED"),
    "a wrong password": (("POST", "/api/auth/login", {"json": WRONG_LOGIN}), "INVALID_CREDENTIALS"),
    "a method that is none": (("PATCH", "/api/auth/login", {}), "METHOD_NOT_ALLOWED"),
    "a path that is none": (("GET", "/api/nothing", {}), "NOT_FOUND"),
}
"""A request that is refused by each control, and the code in its line."""


async def logged() -> tuple[TestApp, list[AccessLine]]:
    lines: list[AccessLine] = []
    app = await open_test_app(log=lines.append)
    await seed(app)
    lines.clear()
    return app, lines


@pytest.mark.parametrize("name", TRIES)
async def test_what_a_control_refuses_is_in_the_log_with_its_code(name: str) -> None:
    app, lines = await logged()
    (method, path, more), code = TRIES[name]
    await app.call(method, path, **more)
    (line,) = lines
    assert line.refusal == code
    assert (line.request_id, line.address) != ("", "")
    assert (line.user_id is not None) is ("as_whom" in more)
    assert SENT not in repr(line)


async def test_a_limit_is_told_and_success_is_no_refusal() -> None:
    app, lines = await logged()
    body = {"email": "reader@acme.example", "password": PASSWORD, "isPasswordEncrypted": False}
    while (await app.call("POST", "/api/auth/login", json=body)).status_code == 200:
        pass
    *let_in, last = [line.refusal for line in lines]
    assert let_in
    assert set(let_in) == {None}
    assert last == "RATE_LIMITED"
