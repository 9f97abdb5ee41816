"""Limits that two processes share in a real Redis: exact to the request, on every endpoint that the tables name."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from ipaddress import ip_network
from typing import Any

import httpx
import pytest
import pytest_asyncio

from adapters.http.app import HttpSettings
from adapters.http.request.rules import Unlimited
from adapters.memory.admissions import MemoryAdmissions
from adapters.redis.admissions import RedisAdmissions
from adapters.redis.client import redis_client
from adapters.redis.commands import Commands
from adapters.redis.lease import Lease, Times
from adapters.redis.shared_pipeline import SharedPipeline
from domain.limits import Limit
from entrypoints.assembly.use_cases import Services, assemble
from entrypoints.settings.settings import read_settings
from tests.http.app import ADMIN, SETTINGS, client_of, open_test_app
from tests.http.served import Served, served_by
from tests.servers.redis_servers import RedisServer
from tests.servers.shared_memories import NothingDue
from tests.waiting import HUNG_AFTER

ID = "01920000-0000-7000-8000-000000000001"
HEADERS = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")

TABLES = {
    ("POST", "/api/auth/login"): 10,
    ("POST", "/api/auth/register"): 5,
    ("POST", "/api/auth/request-password-reset"): 3,
    ("POST", "/api/auth/resend-confirmation"): 3,
    ("POST", "/api/{entities}"): 100,
    ("PUT", "/api/{entities}/{id}"): 100,
    ("PATCH", "/api/{entities}/{id}"): 100,
    ("DELETE", "/api/{entities}/{id}"): 50,
    ("GET", "/api/{entities}"): 500,
    ("GET", "/api/{entities}/{id}"): 1000,
    ("POST", "/api/{entities}/batch"): 10,
    ("PUT", "/api/{entities}/batch"): 10,
    ("DELETE", "/api/{entities}/batch"): 10,
    ("POST", "/api/{entities}/batch/delete"): 10,
    ("POST", "/api/{entities}/batch/upsert"): 10,
    ("GET", "/api/{entities}/export"): 5,
    ("GET", "/api/{entities}/summary"): 60,
    ("POST", "/api/{entities}/import"): 5,
    ("POST", "/api/{entities}/{id}/restore"): 50,
}
"""The specification's two, and what the decisions add to them; all else is 100."""

OTHERS = {
    ("GET", "/api/changes"): 120,
    ("GET", "/api/changes/stream"): 120,
    ("POST", "/api/files"): 60,
    ("GET", "/api/files/{id}"): 100,
    ("DELETE", "/api/files/{id}"): 100,
    ("GET", "/api/products/{id}/photo"): 300,
    ("POST", "/api/products/{id}/photo/link"): 300,
    ("GET", "/files/{token}"): 600,
    ("GET", "/api/webhooks"): 100,
    ("GET", "/api/webhooks/{webhook_id}"): 100,
    ("DELETE", "/api/webhooks/{webhook_id}"): 100,
    ("POST", "/api/webhooks/{webhook_id}/test"): 10,
    ("POST", "/api/invitations"): 20,
    ("POST", "/api/invitations/batch"): 20,
    ("POST", "/api/invitations/{invitation_id}/resend"): 20,
    ("POST", "/api/tenants/current/domains/{domain}/verify"): 10,
    ("POST", "/api/auth/me/email"): 3,
    ("GET", "/api/auth/me/export"): 3,
    ("POST", "/api/auth/invitations/preview"): 10,
    ("POST", "/api/auth/invitations/accept"): 10,
    ("POST", "/api/auth/invitations/decline"): 10,
    ("POST", "/api/auth/tenants"): 10,
    ("POST", "/api/auth/token"): 60,
    ("POST", "/api/auth/mfa/verify"): 10,
    ("POST", "/api/auth/mfa/passkey"): 10,
    ("POST", "/api/auth/mfa/enrol"): 10,
    ("POST", "/api/auth/mfa/enrol/finish"): 10,
    ("POST", "/api/auth/passkeys/begin"): 10,
    ("POST", "/api/auth/passkeys/finish"): 10,
    ("GET", "/api/entities"): 100,
    ("POST", "/api/operations"): 60,
    ("GET", "/api/system"): 100,
}
"""Limits of endpoints that are no rows and not of the tables, where they are not 100 or look like rows."""

TRIED = [
    *TABLES,
    ("POST", "/api/auth/refresh"),
    ("POST", "/api/auth/social-login"),
    ("POST", "/api/auth/reset-password"),
    ("GET", "/api/auth/me"),
    ("GET", "/api/users"),
    ("PUT", "/api/tenants/{id}"),
]


@dataclass
class Processes:
    clients: tuple[httpx.AsyncClient, httpx.AsyncClient]
    services: Services
    token: str

    async def call(self, number: int, method: str, path: str, **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}", **more.pop("headers", {})}
        return await self.clients[number % 2].request(method, path, headers=headers, **more)


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.kill()


@pytest_asyncio.fixture
async def processes(redis: RedisServer) -> AsyncIterator[Processes]:
    """Two of everything but the database, and names in Redis that no other case has used."""
    app = await open_test_app()
    token = (await app.login("root", ADMIN))["token"]
    # exact numbers are asked for here, not how soon an outage is noticed on a busy machine
    pipelines = [SharedPipeline(redis_client(redis.url), patience=HUNG_AFTER) for _ in range(2)]
    prefix = secrets.token_hex(4)
    settings = HttpSettings(trusted_proxies=(ip_network("127.0.0.0/8"),))
    services = []
    for pipeline in pipelines:
        lease = Lease(pipeline, NothingDue(), Times(lifetime=600), commands=Commands(prefix))
        shared = RedisAdmissions(lease, MemoryAdmissions(app.adapters.clock))
        services.append(assemble(replace(app.adapters, admissions=shared, revocations=shared), read_settings(SETTINGS)))
    first, other = (client_of(each, settings) for each in services)
    yield Processes((first, other), services[0], token)
    for client in (first, other, app.client):
        await client.aclose()
    for pipeline in pipelines:
        await pipeline.close()


@pytest.mark.promise("identity, errors: RATE_LIMITED 429")
@pytest.mark.promise("identity, limits: the limits of the specification, exact to the request over two processes")
@pytest.mark.promise("identity, limits: the three headers on every limited response, Retry-After on 429")
@pytest.mark.parametrize(("method", "path"), TRIED)
async def test_a_limit_lets_exactly_its_number_through_two_processes(
    processes: Processes, method: str, path: str
) -> None:
    limit = TABLES.get((method, path), 100)
    filled = path.replace("{entities}", "products").replace("{id}", ID)
    calls = (processes.call(number, method, filled) for number in range(limit + 4))
    answers = await asyncio.gather(*calls)
    allowed = [answer for answer in answers if answer.status_code != 429]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert len(refused) == 4
    assert sorted(int(answer.headers["x-ratelimit-remaining"]) for answer in allowed) == list(range(limit))
    assert {answer.headers["x-ratelimit-limit"] for answer in answers} == {str(limit)}
    for answer in refused:
        assert answer.headers["x-ratelimit-remaining"] == "0"
        assert 1 <= int(answer.headers["retry-after"]) <= 60


@pytest.mark.promise("identity, limits: the limits of the specification, exact to the request over two processes")
def test_every_endpoint_has_the_limit_of_its_line(processes: Processes) -> None:
    for endpoint in served_by(processes.services):
        # Pages, and the console's session, which counts with the endpoint that it stands for, have no line.
        if isinstance(endpoint.limit, Limit) and not endpoint.path.startswith(("/account/", "/console/")):
            assert endpoint.limit.count == wanted(endpoint), endpoint.path


def wanted(endpoint: Served) -> int:
    own = OTHERS.get((endpoint.method, endpoint.path))
    return own or TABLES.get((endpoint.method, in_table(endpoint)), 100)


def in_table(endpoint: Served) -> str:
    if endpoint.area == "A":
        return endpoint.path
    return "/".join(["", "api", "{entities}", *endpoint.path.split("/")[3:]])


@pytest.mark.promise("identity, limits: the three headers on every limited response, Retry-After on 429")
async def test_every_limited_answer_carries_the_three_headers_and_no_other_does(processes: Processes) -> None:
    """Whatever becomes of the request: answered, refused, not found, not understood."""
    for endpoint in served_by(processes.services):
        path = endpoint.path
        for step in [step for step in path.split("/") if step.startswith("{")]:
            path = path.replace(step, ID)
        for headers in ({}, {"Authorization": "Bearer nonsense"}):
            answer = await processes.call(0, endpoint.method, path, content=b"nonsense", headers=headers)
            assert answer.status_code < 500, path
            carried = [name for name in HEADERS if name in answer.headers]
            assert carried == ([] if isinstance(endpoint.limit, Unlimited) else list(HEADERS)), path


SPELLINGS = (
    "//api/products/export",
    "/api//products/export",
    "/api/products/export/",
    "/api/products/%65xport",
    "/api/%70roducts/export",
    "/api/products/export//",
)


@pytest.mark.promise("identity, limits: no spelling of a path evades a limit")
@pytest.mark.parametrize("path", SPELLINGS)
async def test_every_spelling_of_a_path_uses_the_same_limit(processes: Processes, path: str) -> None:
    for number in range(5):
        await processes.call(number, "GET", "/api/products/export")
    answer = await processes.call(0, "GET", f"http://localhost{path}")
    assert answer.status_code == 429


@pytest.mark.promise("identity, limits: no spelling of a path evades a limit")
@pytest.mark.parametrize("path", ["/API/products/export", "/api/Products/export", "/api/products/EXPORT"])
async def test_another_case_is_another_path_and_there_is_nothing(processes: Processes, path: str) -> None:
    """``EXPORT`` is read as an id of nothing."""
    assert (await processes.call(0, "GET", path)).status_code == 404


async def exhausted(processes: Processes, address: str, headers: dict[str, str] | None = None) -> bool:
    answer = await login(processes, 0, address, headers)
    return answer.status_code == 429


async def login(
    processes: Processes, number: int, address: str, headers: dict[str, str] | None = None
) -> httpx.Response:
    body = {"email": f"n{secrets.token_hex(6)}@example.com", "password": "wrong", "isPasswordEncrypted": False}
    given = {"X-Forwarded-For": address, **(headers or {})}
    return await processes.clients[number % 2].post("/api/auth/login", json=body, headers=given)


@pytest.mark.promise("identity, limits: Counted by user, otherwise by address; IPv6 by /64 network")
async def test_ipv6_neighbours_share_a_limit_and_others_do_not(processes: Processes) -> None:
    for number in range(10):
        assert (await login(processes, number, f"2001:db8:1:2:{number:x}::1")).status_code == 401
    assert await exhausted(processes, "2001:db8:1:2:ffff::2")
    assert await exhausted(processes, "[2001:db8:1:2::9]:4711")
    assert not await exhausted(processes, "2001:db8:1:3::1")


@pytest.mark.promise(
    "identity, limits: no header changes the client's address, except X-Forwarded-For from a trusted proxy"
)
async def test_an_ipv4_address_is_one_in_whatever_clothes(processes: Processes) -> None:
    for number in range(10):
        await login(processes, number, "203.0.113.9")
    for spelling in ("::ffff:203.0.113.9", "203.0.113.9:80", "6.6.6.6, 203.0.113.9", "203.0.113.9, 127.0.0.2"):
        assert await exhausted(processes, spelling), spelling
    assert not await exhausted(processes, "203.0.113.8")


@pytest.mark.promise(
    "identity, limits: no header changes the client's address, except X-Forwarded-For from a trusted proxy"
)
async def test_untrusted_address_headers_are_ignored(processes: Processes) -> None:
    for number in range(10):
        await login(processes, number, "203.0.113.9")
    for name in ("X-Real-IP", "Forwarded", "CF-Connecting-IP", "X-Client-IP", "True-Client-IP"):
        assert await exhausted(processes, "203.0.113.9", {name: "198.51.100.1"})


@pytest.mark.promise(
    "identity, limits: Login, register and reset are counted by address, and by e-mail over all networks; the headers "
    "show the tighter limit"
)
async def test_a_limit_by_address_and_one_by_email_show_the_tighter(processes: Processes) -> None:
    body = {"email": "target@example.com", "password": "wrong", "isPasswordEncrypted": False}

    async def ask(address: str) -> httpx.Response:
        return await processes.clients[0].post("/api/auth/login", json=body, headers={"X-Forwarded-For": address})

    # Ten times the number over all networks: the limit of the address is the tighter one at first.
    shown = [(await ask(f"203.0.113.{number}")).headers["x-ratelimit-remaining"] for number in range(94)]
    assert shown == ["9"] * 91 + ["8", "7", "6"]
    for number in range(7):
        await login(processes, number, "198.51.100.7")
    assert (await ask("198.51.100.7")).headers["x-ratelimit-remaining"] == "2"


@pytest.mark.promise("security, faults: no endpoint takes a revoked token, whatever the body says")
async def test_a_token_that_one_process_revoked_is_dead_at_the_other_whatever_the_body_names(
    processes: Processes,
) -> None:
    body = {"email": "new@example.com"}
    asked = await processes.call(1, "POST", "/api/auth/me/email", json=body)
    assert (asked.status_code, asked.headers["x-ratelimit-remaining"]) == (200, "2")
    assert (await processes.call(0, "POST", "/api/auth/logout")).status_code == 200
    answers = [await processes.call(number, "POST", "/api/auth/me/email", json=body) for number in range(4)]
    # Counted for the session of the dead token, in one count of both, and no more for the address.
    assert [answer.status_code for answer in answers] == [401] * 3 + [429]
    assert [answer.headers["x-ratelimit-remaining"] for answer in answers] == ["2", "1", "0", "0"]
