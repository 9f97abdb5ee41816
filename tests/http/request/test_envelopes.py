"""What every answer has, whatever it answers.

What may be kept, and by whom: responses for their caller alone say so, errors included.
"""

import json
import logging
import re
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from adapters.http.app import HttpSettings
from adapters.http.request.errors import STATUS, ErrorResponse
from application.ports.entities.records import RecordTransaction
from application.primary_reads import PrimaryReads
from domain import errors
from domain.scope import SYSTEM_TENANT_ID, Scope
from tests.http.app import ADMIN, PASSWORD, TestApp, client_of
from tests.http.served import served_by

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@pytest.mark.promise("identity, fields: the success envelope, and lists without an envelope")
async def test_an_answer_of_identity_has_its_data_in_an_envelope(app: TestApp) -> None:
    body = (await app.call("GET", "/api/auth/me", as_whom="acme")).json()
    assert body.keys() == {"isSuccess", "data"}
    assert body["isSuccess"] is True


@pytest.mark.promise("identity, fields: the error envelope, with every failing field")
async def test_an_error_of_identity_has_a_code_and_its_fields(app: TestApp) -> None:
    body = (await app.call("GET", "/api/users")).json()
    assert body.keys() == {"isSuccess", "errorCode", "errorMessage", "errors"}
    assert (body["isSuccess"], body["errorCode"], body["errors"]) == (False, "UNAUTHORIZED", [])


@pytest.mark.promise(
    "identity, errors: MFA_REQUIRED, MFA_ENROLMENT_REQUIRED 401 at login, 403 at refresh and switch-tenant"
)
@pytest.mark.parametrize("kind", [errors.MfaRequired, errors.MfaEnrolmentRequired])
def test_an_incomplete_login_is_answered_with_its_ticket(kind: type[errors.MfaRequired]) -> None:
    challenge = errors.Challenge(ticket="sealed", methods=("totp",), expires_at=datetime(2026, 11, 20, tzinfo=UTC))
    for operation, status in (("auth.login", 401), ("auth.refresh", 403), ("auth.switch-tenant", 403)):
        answer = ErrorResponse(kind(challenge), "A", operation, "an id")
        assert (answer.status_code, "www-authenticate" in answer.headers) == (status, status == 401)
        body = json.loads(answer.content)
        assert body["errorCode"] == kind.code
        assert body["mfa"] == {"ticket": "sealed", "methods": ["totp"], "expiresAt": "2026-11-20T00:00:00Z"}


@pytest.mark.promise("identity, fields: the success envelope, and lists without an envelope")
async def test_lists_of_area_a_have_no_envelope(app: TestApp) -> None:
    assert (await app.call("GET", "/api/users", as_whom="acme")).json().keys() == {
        "items",
        "totalCount",
        "page",
        "pageSize",
        "totalPages",
    }
    for path in ("/api/roles", "/api/permissions"):
        assert (await app.call("GET", path, as_whom="acme")).json().keys() == {"items"}


@pytest.mark.promise("entities, contract: the success envelope, with meta")
async def test_an_answer_of_entities_has_its_data_and_the_id_of_its_request(app: TestApp) -> None:
    answer = await app.call("GET", "/api/products", as_whom="acme")
    body = answer.json()
    assert body.keys() == {"success", "data", "meta"}
    assert body["meta"]["requestId"] == answer.headers["X-Request-Id"]
    assert TIME.fullmatch(body["meta"]["timestamp"])
    assert body["data"].keys() == {
        "items",
        "page",
        "pageSize",
        "totalCount",
        "totalPages",
        "hasNextPage",
        "hasPreviousPage",
    }


@pytest.mark.promise("entities, contract: the error envelope, with traceId")
async def test_an_error_of_entities_has_a_code_and_the_id_of_its_request(app: TestApp) -> None:
    answer = await app.call("POST", "/api/products", as_whom="acme", json={})
    body = answer.json()
    assert body.keys() == {"success", "error"}
    assert body["error"].keys() == {"code", "message", "details", "traceId"}
    assert body["error"]["traceId"] == answer.headers["X-Request-Id"]


@pytest.mark.promise("identity, every response: X-Request-Id")
@pytest.mark.parametrize(
    ("given", "is_taken"),
    [("abc-1._Z", True), ("a" * 128, True), ("a" * 129, False), ("a b", False), ('"', False), ("", False)],
)
async def test_a_sane_request_id_is_taken_over(app: TestApp, given: str, is_taken: bool) -> None:
    answer = await app.call("GET", "/health/live", headers={"X-Request-Id": given})
    assert (answer.headers["X-Request-Id"] == given) is is_taken


@pytest.mark.promise("identity, every response: Paths that no route matches, wrong methods, HEAD")
@pytest.mark.parametrize(
    ("path", "area"),
    [
        ("/api/auth/nothing", "A"),
        ("/api/users/x/y/z", "A"),
        ("/api/tenants/x/nothing", "A"),
        ("/api/nothing", "B"),
        ("/api", "B"),
        ("/api/Products", "B"),
        ("/", "B"),
        ("/nothing", "B"),
        ("/api/products/a%2Fb", "B"),
    ],
)
async def test_paths_that_match_nothing_answer_in_their_area(app: TestApp, path: str, area: str) -> None:
    answer = await app.call("GET", path, as_whom="acme")
    assert answer.status_code == 404
    body = answer.json()
    assert (body["errorCode"] if area == "A" else body["error"]["code"]) == "NOT_FOUND"


@pytest.mark.promise(
    "identity, errors: METHOD_NOT_ALLOWED 405, PAYLOAD_TOO_LARGE 413, UNSUPPORTED_MEDIA_TYPE 415, PRECONDITION_FAILED "
    "412, SERVICE_UNAVAILABLE 503, BAD_REQUEST 400, UNPROCESSABLE_ENTITY 422"
)
@pytest.mark.promise("identity, every response: Paths that no route matches, wrong methods, HEAD")
@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PATCH", "/api/users", "GET, POST, HEAD, OPTIONS"),
        ("GET", "/api/auth/login", "POST, OPTIONS"),
        ("POST", "/api/products/1", "DELETE, GET, PATCH, PUT, HEAD, OPTIONS"),
        ("TRACE", "/api/products", "GET, POST, HEAD, OPTIONS"),
        ("DELETE", "/health/live", "GET, HEAD, OPTIONS"),
        ("POST", "/api/audit-events", "GET, HEAD, OPTIONS"),
    ],
)
async def test_a_wrong_method_is_answered_with_the_allowed_methods(
    app: TestApp, method: str, path: str, allow: str
) -> None:
    answer = await app.call(method, path, as_whom="acme")
    assert (answer.status_code, answer.headers["Allow"]) == (405, allow)
    asked = await app.call("OPTIONS", path)
    assert (asked.status_code, asked.headers["Allow"], asked.content) == (204, allow, b"")


@pytest.mark.promise("identity, every response: Paths that no route matches, wrong methods, HEAD")
async def test_head_is_get_without_a_body(app: TestApp) -> None:
    got = await app.call("GET", "/api/products", as_whom="acme")
    head = await app.call("HEAD", "/api/products", as_whom="acme")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Length"] == got.headers["Content-Length"]


@pytest.mark.promise("identity, every response: Responses with tokens are not cached")
async def test_token_answers_are_not_stored(app: TestApp) -> None:
    login = {"email": ADMIN, "password": PASSWORD, "isPasswordEncrypted": False}
    answer = await app.call("POST", "/api/auth/login", json=login)
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.promise("identity, errors: UNAUTHORIZED 401, and WWW-Authenticate")
@pytest.mark.parametrize(
    ("authorization", "code", "challenge"),
    [
        (None, "UNAUTHORIZED", 'Bearer realm="tenantry"'),
        ("Basic YTpi", "UNAUTHORIZED", 'Bearer realm="tenantry"'),
        ("Bearer", "TOKEN_INVALID", 'error="invalid_token"'),
        ("Bearer x.y.z", "TOKEN_INVALID", 'error="invalid_token"'),
        ("bearer \u00e9", "TOKEN_INVALID", 'error="invalid_token"'),
    ],
)
async def test_a_401_says_what_is_missing(app: TestApp, authorization: str | None, code: str, challenge: str) -> None:
    headers = {} if authorization is None else {b"Authorization": authorization.encode("latin-1")}
    in_a = await app.client.get("/api/users", headers=headers)
    in_b = await app.client.get("/api/products", headers=headers)
    assert (in_a.status_code, in_a.json()["errorCode"]) == (401, code)
    assert (in_b.status_code, in_b.json()["error"]["code"]) == (401, "UNAUTHORIZED")
    assert challenge in in_a.headers["WWW-Authenticate"]


@pytest.mark.promise("entities, details: version, ETag, If-Match inside the UPDATE, If-None-Match")
async def test_an_etag_spares_reading_again_and_guards_writing(app: TestApp) -> None:
    body = {"name": "Lamp", "sku": "LAMP-1", "price": 1}
    made = await app.call("POST", "/api/products", as_whom="acme", json=body)
    path, tag = made.headers["Location"], made.headers["ETag"]
    known = await app.call("GET", path, as_whom="acme", headers={"If-None-Match": tag})
    assert (known.status_code, known.content, known.headers["ETag"]) == (304, b"", tag)
    changed = await app.call("PUT", path, as_whom="acme", json={"price": 2}, headers={"If-Match": tag})
    assert (changed.status_code, changed.headers["ETag"]) == (200, '"2"')
    for stale in (tag, 'W/"2"', "2", '"x"'):
        refused = await app.call("PUT", path, as_whom="acme", json={"price": 3}, headers={"If-Match": stale})
        assert (refused.status_code, refused.json()["error"]["code"]) == (412, "PRECONDITION_FAILED")


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate", "-gzip"])
async def test_a_tag_to_which_a_compressing_proxy_added_its_coding_is_the_row_s(app: TestApp, coding: str) -> None:
    body = {"name": "Lamp", "sku": "LAMP-1", "price": 1}
    path = (await app.call("POST", "/api/products", as_whom="acme", json=body)).headers["Location"]
    known = await app.call("GET", path, as_whom="acme", headers={"If-None-Match": f'"1-{coding}"'})
    assert known.status_code == 304
    for tag, status in ((f'"2-{coding}"', 412), (f'"1-{coding}x"', 412), (f'"1-{coding}"', 200)):
        changed = await app.call("PUT", path, as_whom="acme", json={"price": 2}, headers={"If-Match": tag})
        assert changed.status_code == status, tag


class BrokenDatabase:
    def transaction(self, scope: Scope) -> AbstractAsyncContextManager[RecordTransaction]:
        raise RuntimeError("a secret detail")

    read_only = autocommit = transaction


@pytest.mark.promise("identity, errors: INTERNAL_ERROR 500, which reveals nothing about its cause")
async def test_an_unexpected_error_is_logged_and_reveals_nothing(
    app: TestApp, caplog: pytest.LogCaptureFixture
) -> None:
    crud = replace(app.services.crud, reads=PrimaryReads(BrokenDatabase()))
    headers = {"Authorization": f"Bearer {app.tokens['acme']}", "X-Request-Id": "the-one"}
    async with client_of(replace(app.services, crud=crud), HttpSettings()) as client:
        with caplog.at_level(logging.ERROR):
            answer = await client.get("/api/products", headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "INTERNAL_ERROR")
    assert "secret" not in answer.text
    (record,) = [line for line in caplog.records if line.levelno == logging.ERROR]
    assert vars(record)["request_id"] == "the-one"
    assert record.exc_info is not None


async def test_a_host_that_is_none_is_a_bad_request(app: TestApp) -> None:
    answer = await app.call("GET", "/api/products", headers={"Host": "a b"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "BAD_REQUEST")


async def test_each_answer_is_logged(caplog: pytest.LogCaptureFixture, app: TestApp) -> None:
    with caplog.at_level(logging.INFO, "adapters.http.operations.access_log"):
        await app.call("GET", "/api/products/a%0Ab", as_whom="acme")
    line = vars(
        next(line_record for line_record in caplog.records if line_record.name == "adapters.http.operations.access_log")
    )
    assert (line["method"], line["path"], line["status"]) == ("GET", "'/api/products/a\\nb'", 404)


@pytest.mark.promise(
    "identity, errors: METHOD_NOT_ALLOWED 405, PAYLOAD_TOO_LARGE 413, UNSUPPORTED_MEDIA_TYPE 415, PRECONDITION_FAILED "
    "412, SERVICE_UNAVAILABLE 503, BAD_REQUEST 400, UNPROCESSABLE_ENTITY 422"
)
def test_every_code_has_one_status() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.Error)]
    assert {kind.code for kind in kinds if kind is not errors.Error} == STATUS.keys()


def test_nothing_is_served_twice(app: TestApp) -> None:
    table = served_by(app.services)
    assert len({endpoint.operation for endpoint in table}) == len(table)


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
async def test_an_answer_for_one_caller_is_not_cacheable(app: TestApp, method: str, path: str, body: object) -> None:
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
async def test_a_public_answer_is_cacheable(app: TestApp, path: str) -> None:
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
