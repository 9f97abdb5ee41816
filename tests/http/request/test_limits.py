"""How often a caller may ask, as the specification's tables say it, and for whom it is counted."""

from datetime import timedelta
from ipaddress import ip_network
from typing import Any, cast

import httpx
import pytest

from adapters.http.request.client_address import forwarded_address, read_client
from adapters.http.request.rules import PUBLIC, PUBLIC_OR_TOKEN, Policy, Unlimited
from adapters.memory.admissions import MemoryAdmissions
from adapters.memory.clock import MovableClock
from domain.limits import Limit
from domain.scope import EveryTenant
from tests.http.app import ADMIN, PASSWORD, TestApp, open_test_app
from tests.http.served import Served, served_by

WRONG = {"email": "nobody@example.com", "password": "wrong password", "isPasswordEncrypted": False}

TABLE = {
    ("POST", "/api/auth/login"): 10,
    ("POST", "/api/auth/register"): 5,
    ("POST", "/api/auth/request-password-reset"): 3,
    ("POST", "/api/auth/resend-confirmation"): 3,
    ("POST", "/api/auth/reset-password"): 100,
    ("POST", "/api/auth/refresh"): 100,
    ("GET", "/api/users"): 100,
    ("POST", "/api/products"): 100,
    ("PUT", "/api/products/{id}"): 100,
    ("PATCH", "/api/products/{id}"): 100,
    ("DELETE", "/api/products/{id}"): 50,
    ("GET", "/api/products"): 500,
    ("GET", "/api/products/{id}"): 1000,
}


SIGN_IN_PAGES = {"/account/login", "/account/register", "/account/security"}
"""Pages that read the database, and have a limit."""


@pytest.mark.promise("entities, contract: the rate limits of area B and their headers")
def test_every_endpoint_states_who_may_call_it_and_how_often(app: TestApp) -> None:
    for endpoint in served_by(app.services):
        assert isinstance(endpoint.policy, Policy)
        is_free = endpoint.path.startswith(("/health", "/metrics", "/.well-known", "/docs", "/account/"))
        is_free = (is_free or endpoint.path == "/") and endpoint.path not in SIGN_IN_PAGES
        assert isinstance(endpoint.limit, Unlimited) is is_free
    limits: dict[tuple[str, str], Limit] = {
        (endpoint.method, endpoint.path): endpoint.limit
        for endpoint in served_by(app.services)
        if isinstance(endpoint.limit, Limit)
    }
    assert {key: limits[key].count for key in TABLE} == TABLE
    assert limits["PUT", "/api/products/{id}"] == limits["PATCH", "/api/products/{id}"]


ORDINARY_COUNT = 100

WITHOUT_A_LIMIT_OF_THEIR_OWN = {
    "auth.refresh",
    "auth.social-login",
    "auth.exchange-code",
    "auth.confirm-email",
    "auth.reset-password",
    "console.refresh",
    "console.sign-out",
}
"""What nobody guesses: they take a secret of 256 bits, or a provider's token."""


def test_every_write_without_a_token_has_an_explicit_limit(app: TestApp) -> None:
    """The router of identity has 100 a minute for all that state none: too many for a code of six digits."""
    usual = {
        served.operation
        for served in served_by(app.services)
        if served.policy in (PUBLIC, PUBLIC_OR_TOKEN) and served.method != "GET" and limit_of(served) >= ORDINARY_COUNT
    }
    assert usual == WITHOUT_A_LIMIT_OF_THEIR_OWN


def limit_of(served: Served) -> int:
    assert isinstance(served.limit, Limit), served.operation
    return served.limit.count


TOGETHER = {"changes", "invitations", "invitation-link", "login", "products.content"}
"""Limits that several ways to the same thing share."""


def test_limits_are_counted_apart(app: TestApp) -> None:
    table = [endpoint for endpoint in served_by(app.services) if not isinstance(endpoint.limit, Unlimited)]
    paths = [(endpoint.limit, endpoint.path.replace("batch/delete", "batch")) for endpoint in table]
    names = {(limit.name, path) for limit, path in paths if not isinstance(limit, Unlimited)}
    apart = [name for name, _ in names if name not in TOGETHER]
    assert sorted(set(apart)) == sorted(apart)


async def login(client: httpx.AsyncClient, **more: object) -> httpx.Response:
    return await client.post("/api/auth/login", json={**WRONG, **more})


@pytest.mark.promise("entities, contract: the rate limits of area B and their headers")
async def test_a_limit_counts_down_and_refuses_and_ends(app: TestApp) -> None:
    app.clock.move(timedelta(minutes=2))
    answers = [await login(app.client, email=f"n{number}@example.com") for number in range(11)]
    assert [answer.status_code for answer in answers] == [401] * 10 + [429]
    assert [answer.headers["X-RateLimit-Remaining"] for answer in answers] == [*map(str, range(9, -1, -1)), "0"]
    assert {answer.headers["X-RateLimit-Limit"] for answer in answers} == {"10"}
    refused = answers[-1]
    assert refused.json()["errorCode"] == "RATE_LIMITED"
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert int(refused.headers["X-RateLimit-Reset"]) > app.adapters.clock.now().timestamp()
    app.clock.move(timedelta(seconds=61))
    assert (await login(app.client)).status_code == 401


@pytest.mark.parametrize("path", ["//api/auth/login", "/api/auth/login/", "/api//auth//login//", "/api/auth/logi%6E"])
async def test_no_spelling_of_a_path_goes_round_its_limit(path: str) -> None:
    app = await open_test_app()
    for number in range(10):
        await login(app.client, email=f"n{number}@example.com")
    answer = await app.client.post(f"http://localhost{path}", json=WRONG)
    assert answer.status_code == 429


async def ask_from_everywhere(app: TestApp, path: str, times: int, **body: object) -> list[httpx.Response]:
    """Responses to the same request from as many networks."""
    return [
        await app.client.post(path, json=body, headers={"X-Forwarded-For": f"198.51.100.{number}"})
        for number in range(times)
    ]


@pytest.mark.promise(
    "identity, limits: Login, register and reset are counted by address, and by e-mail over all networks; the headers "
    "show the tighter limit"
)
@pytest.mark.promise(
    "security, lockout: strangers elsewhere keep no owner from a login where the account logged in before; an e-mail "
    "has ten times the limit over all networks"
)
async def test_a_login_is_counted_for_its_email_in_any_spelling_over_all_networks() -> None:
    app = await open_test_app(trusted_proxies=(ip_network("127.0.0.0/8"),))
    spellings = ["nobody@example.com", " Nobody@EXAMPLE.com", "NOBODY@example.COM"]
    answers = []
    for number in range(101):
        headers = {"X-Forwarded-For": f"198.51.100.{number}"}
        body = {**WRONG, "email": spellings[number % 3]}
        answers.append(await app.client.post("/api/auth/login", json=body, headers=headers))
    assert {answer.status_code for answer in answers[:-1]} == {401}
    refused = answers[-1]
    assert (refused.status_code, refused.headers["X-RateLimit-Limit"]) == (429, "100")
    assert int(refused.headers["Retry-After"]) >= 1


@pytest.mark.promise(
    "security, lockout: strangers elsewhere keep no owner from a login where the account logged in before; an e-mail "
    "has ten times the limit over all networks"
)
async def test_failed_logins_from_elsewhere_do_not_block_a_login_from_a_known_network() -> None:
    app = await open_test_app(trusted_proxies=(ip_network("127.0.0.0/8"),))
    home = {"X-Forwarded-For": "203.0.113.9"}
    good = {"email": ADMIN, "password": PASSWORD, "isPasswordEncrypted": False}

    async def login_at(headers: dict[str, str]) -> httpx.Response:
        return await app.client.post("/api/auth/login", json=good, headers=headers)

    assert (await login_at(home)).status_code == 200
    app.clock.move(timedelta(minutes=2))
    answers = await ask_from_everywhere(app, "/api/auth/login", 110, **{**WRONG, "email": ADMIN})
    assert answers[-1].status_code == 429
    assert (await login_at({"X-Forwarded-For": "203.0.113.10"})).status_code == 429
    answers = [await login_at(home) for _ in range(11)]
    assert [answer.status_code for answer in answers] == [200] * 10 + [429]


@pytest.mark.promise(
    "security, lockout: a reset or confirmation mail that is asked for too often is answered as always, and not sent"
)
@pytest.mark.parametrize("path", ["/api/auth/request-password-reset", "/api/auth/resend-confirmation"])
async def test_a_mail_asked_for_too_often_is_answered_as_always_and_not_sent(path: str) -> None:
    app = await open_test_app(trusted_proxies=(ip_network("127.0.0.0/8"),))

    async def waiting() -> int:
        async with app.adapters.database.autocommit(EveryTenant()) as tx:
            return len(await tx.outbox.take(1_000, app.adapters.clock.now(), timedelta()))

    before = await waiting()
    answers = await ask_from_everywhere(app, path, 35, email=ADMIN)
    assert {(answer.status_code, answer.text) for answer in answers} == {(200, answers[0].text)}
    assert {answer.headers["X-RateLimit-Remaining"] for answer in answers} == {"2"}
    assert await waiting() - before == 30
    # What an address asks for itself is refused as ever.
    again = [await app.client.post(path, json={"email": ADMIN}) for _ in range(4)]
    assert [answer.status_code for answer in again] == [200, 200, 200, 429]


@pytest.mark.promise("identity, limits: Requests with an invalid token are counted against the address")
async def test_a_token_that_does_not_verify_counts_against_the_address() -> None:
    app = await open_test_app()
    headers = {"Authorization": "Bearer nonsense"}
    answers = [await app.client.get("/api/users", headers=headers) for _ in range(101)]
    assert {answer.status_code for answer in answers[:100]} == {401}
    assert answers[100].status_code == 429
    await app.login("root", ADMIN)
    assert (await app.call("GET", "/api/users", as_whom="root")).status_code == 200


@pytest.mark.parametrize("end", ["/api/auth/logout", "/api/auth/sessions/{sid}"])
async def test_a_stolen_revoked_token_does_not_use_the_limit_of_its_user(end: str) -> None:
    app = await open_test_app(trusted_proxies=(ip_network("127.0.0.0/8"),))
    await app.login("root", ADMIN)
    stolen = app.tokens["root"]
    sid = (await app.call("GET", "/api/auth/sessions", as_whom="root")).json()["data"]["items"][0]["id"]
    method = "POST" if end.endswith("logout") else "DELETE"
    assert (await app.call(method, end.replace("{sid}", sid), as_whom="root")).status_code == 200
    thief = {"Authorization": f"Bearer {stolen}", "X-Forwarded-For": "198.51.100.1"}
    answers = [await app.client.get("/api/users", headers=thief) for _ in range(101)]
    assert [answer.status_code for answer in answers] == [401] * 100 + [429]
    assert answers[0].headers["X-RateLimit-Remaining"] == "99"
    await app.login("root", ADMIN)
    answer = await app.call("GET", "/api/users", as_whom="root", headers={"X-Forwarded-For": "198.51.100.2"})
    assert (answer.status_code, answer.headers["X-RateLimit-Remaining"]) == (200, "99")


async def test_a_revoked_token_is_reported_although_the_limit_of_its_user_is_reached(app: TestApp) -> None:
    answers = [await app.call("DELETE", "/api/products/x", as_whom="acme") for _ in range(51)]
    assert answers[-1].status_code == 429
    assert (await app.call("POST", "/api/auth/logout", as_whom="acme")).status_code == 200
    assert (await app.call("DELETE", "/api/products/x", as_whom="acme")).status_code == 401


@pytest.mark.promise(
    "security, lockout: a token that expired, went stale or was revoked has a limit of its own: behind an address that "
    "many share its client learns 401"
)
async def test_an_expired_token_is_reported_although_the_limit_of_its_address_is_reached(app: TestApp) -> None:
    """Behind an address that many share, a client must learn that it has to refresh or to log in."""
    assert isinstance(app.adapters.clock, MovableClock)
    app.adapters.clock.move(timedelta(minutes=60, seconds=10))
    await app.login("late", "admin@acme.example")
    await fill_address(app)
    assert await told(app, "acme") == (401, "TOKEN_EXPIRED", "99")
    assert (await app.call("POST", "/api/auth/logout", as_whom="late")).status_code == 200
    assert await told(app, "late") == (401, "TOKEN_INVALID", "99")


@pytest.mark.promise(
    "security, lockout: a token that expired, went stale or was revoked has a limit of its own: behind an address that "
    "many share its client learns 401"
)
async def test_an_expired_token_has_a_separate_limit(app: TestApp) -> None:
    reader = (await app.call("GET", "/api/auth/me", as_whom="reader")).json()["data"]["id"]
    assert (await app.call("PUT", f"/api/users/{reader}", as_whom="acme", json={"roles": ["Admin"]})).status_code == 200
    await fill_address(app)
    assert [await told(app, "reader") for _ in range(101)][::50] == [
        (401, "TOKEN_EXPIRED", "99"),
        (401, "TOKEN_EXPIRED", "49"),
        (429, "RATE_LIMITED", "0"),
    ]


async def fill_address(app: TestApp) -> None:
    nonsense = {"Authorization": "Bearer nonsense"}
    answers = [await app.client.get("/api/users", headers=nonsense) for _ in range(101)]
    assert answers[-1].status_code == 429


async def told(app: TestApp, whom: str) -> tuple[int, str, str]:
    answer = await app.call("GET", "/api/users", as_whom=whom)
    return answer.status_code, answer.json()["errorCode"], answer.headers["X-RateLimit-Remaining"]


async def test_nor_when_only_the_database_knows_that_it_is_dead() -> None:
    app = await open_test_app()
    assert isinstance(app.adapters.admissions, MemoryAdmissions)
    await app.login("root", ADMIN)
    await app.login("thief", ADMIN)
    assert (await app.call("POST", "/api/auth/logout", as_whom="thief")).status_code == 200
    left = []
    for _ in range(3):
        app.adapters.admissions.forget()
        answer = await app.call("GET", "/api/users", as_whom="thief")
        left.append((answer.status_code, answer.headers["X-RateLimit-Remaining"]))
    assert left == [(401, "99"), (401, "98"), (401, "97")]
    await app.login("root", ADMIN)
    assert (await app.call("GET", "/api/users", as_whom="root")).headers["X-RateLimit-Remaining"] == "99"


@pytest.mark.promise("identity, limits: Counted by user, otherwise by address; IPv6 by /64 network")
async def test_users_do_not_share_a_limit(app: TestApp) -> None:
    for _ in range(50):
        await app.call("DELETE", "/api/products/x", as_whom="acme")
    assert (await app.call("DELETE", "/api/products/x", as_whom="acme")).status_code == 429
    assert (await app.call("DELETE", "/api/products/x", as_whom="other")).status_code == 404


async def test_counting_without_refusing_and_not_at_all() -> None:
    counting = await open_test_app({"TENANTRY_RATE_LIMITS": "count"})
    answers = [await login(counting.client, email=f"n{number}@example.com") for number in range(12)]
    assert {answer.status_code for answer in answers} == {401}
    assert answers[-1].headers["X-RateLimit-Remaining"] == "0"
    silent = await open_test_app({"TENANTRY_RATE_LIMITS": "off"}, counts_limits=False)
    answers = [await login(silent.client, email=f"n{number}@example.com") for number in range(12)]
    assert {answer.status_code for answer in answers} == {401}
    assert "X-RateLimit-Limit" not in answers[-1].headers


async def test_without_limits_a_logged_out_token_is_still_dead() -> None:
    app = await open_test_app(counts_limits=False)
    await app.login("root", ADMIN)
    assert (await app.call("POST", "/api/auth/logout", as_whom="root")).status_code == 200
    answer = await app.call("GET", "/api/users", as_whom="root")
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "TOKEN_INVALID")
    assert PASSWORD not in answer.text


PROXIES = (ip_network("10.0.0.0/8"), ip_network("2001:db8::/32"))


@pytest.mark.promise(
    "identity, limits: no header changes the client's address, except X-Forwarded-For from a trusted proxy"
)
@pytest.mark.parametrize(
    ("peer", "lines", "address"),
    [
        ("203.0.113.9", ["198.51.100.1"], "203.0.113.9"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["6.6.6.6, 198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["6.6.6.6, 198.51.100.1, 10.0.0.2"], "198.51.100.1"),
        ("10.0.0.1", ["6.6.6.6", "198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ("10.0.0.1", ["198.51.100.1:4711"], "198.51.100.1"),
        ("10.0.0.1", ["[2001:db9::1]:4711"], "2001:db9::1"),
        ("2001:db8::1", ["2001:db9::1"], "2001:db9::1"),
        ("::ffff:10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["6.6.6.6, nonsense"], "10.0.0.1"),
        ("10.0.0.1", ["6.6.6.6, "], "10.0.0.1"),
        ("unknown", ["198.51.100.1"], "unknown"),
    ],
)
def test_the_client_is_the_rightmost_address_that_is_not_a_proxy(peer: str, lines: list[str], address: str) -> None:
    headers = [(b"x-forwarded-for", line.encode()) for line in lines]
    assert forwarded_address(peer, headers, PROXIES) == address


def test_an_ipv4_client_of_a_service_on_ipv6_has_its_own_address() -> None:
    """Networks that an API key is held to, the audit trail and the log would not know it by another spelling."""
    for proxies in ((), PROXIES):
        client = read_client(cast(Any, {"client": ("::ffff:203.0.113.9", 4711), "headers": []}), {}, proxies)
        assert (client.address, client.network) == ("203.0.113.9", "203.0.113.9")
