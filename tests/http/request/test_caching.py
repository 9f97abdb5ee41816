"""What may be kept, and by whom: responses for their caller alone say so, errors included."""

import pytest

from domain.scope import SYSTEM_TENANT_ID
from tests.http.app import TestApp

PRIVATE = [
    ("GET", "/api/users", None),
    ("GET", "/api/auth/me", None),
    ("GET", "/api/auth/me/complete", None),
    ("GET", "/api/roles", None),
    ("GET", "/api/tenants", None),
    ("POST", "/api/auth/register", {"email": "new@example.com", "password": "long enough for it", "fullName": "New"}),
    ("POST", "/api/auth/resend-confirmation", {"email": "new@example.com"}),
    ("POST", "/api/auth/logout", None),
    ("GET", "/api/products", None),
    ("GET", f"/api/products/{SYSTEM_TENANT_ID}", None),
    ("POST", "/api/products", {}),
    ("GET", "/api/products/export", None),
    ("GET", "/api/audit-events", None),
]


@pytest.mark.promise(
    "security, transport: Responses that need a token, and all about persons, are for no cache, errors included; a row "
    "with a version stays with its caller, who asks again"
)
@pytest.mark.parametrize(("method", "path", "body"), PRIVATE)
async def test_what_is_for_its_caller_alone_is_for_no_cache(app: TestApp, method: str, path: str, body: object) -> None:
    answer = await app.call(method, path, as_whom="acme", json=body)
    assert (answer.status_code < 500, answer.headers["Cache-Control"]) == (True, "no-store")
    nobody = await app.call(method, path, json=body)
    assert nobody.headers["Cache-Control"] == "no-store"


@pytest.mark.promise(
    "security, transport: Responses that need a token, and all about persons, are for no cache, errors included; a row "
    "with a version stays with its caller, who asks again"
)
async def test_a_row_with_a_version_stays_with_its_caller_who_asks_again(app: TestApp) -> None:
    body = {"name": "Kettle", "sku": "KETTLE", "price": 1}
    made = await app.call("POST", "/api/products", as_whom="acme", json=body)
    assert made.headers["Cache-Control"] == "no-store"
    path = made.headers["Location"]
    read = await app.call("GET", path, as_whom="acme")
    assert read.headers["Cache-Control"] == "private, no-cache"
    again = await app.call("GET", path, as_whom="acme", headers={"If-None-Match": read.headers["ETag"]})
    assert (again.status_code, again.headers["Cache-Control"]) == (304, "private, no-cache")


@pytest.mark.parametrize("path", ["/docs/v1/docs.json", "/.well-known/jwks.json"])
async def test_what_is_for_everybody_may_be_kept(app: TestApp, path: str) -> None:
    assert "no-store" not in (await app.call("GET", path)).headers.get("Cache-Control", "")


@pytest.mark.parametrize(
    "path", ["/docs/v1/docs.json", "/docs/index.html", "/docs/assets/docs.css", "/account/confirm"]
)
async def test_a_file_that_the_client_has_is_not_sent_again(app: TestApp, path: str) -> None:
    tag = (await app.call("GET", path)).headers["ETag"]
    for known, status in (
        (tag, 304),
        (f'"another", W/{tag}', 304),
        ("*", 304),
        ('"another"', 200),
        (tag.strip('"'), 200),
    ):
        assert (await app.call("GET", path, headers={"If-None-Match": known})).status_code == status, known
