"""Requests that pass their limits and are answered 429 all the same: they count for nothing."""

from dataclasses import replace

import httpx

from adapters.http.app import HttpSettings
from adapters.memory.identity.passwords import MemoryPasswords
from domain.entities.catalogue import ENTITIES
from domain.errors import TooBusy
from domain.limits import Hit, Limit
from entrypoints.assembly.adapters import memory_adapters
from entrypoints.assembly.use_cases import assemble
from entrypoints.settings.settings import read_settings
from entrypoints.testing.app import prepare_memory
from tests.http.app import ADMIN, PASSWORD, SETTINGS, TestApp, client_of, open_test_app, registry_of


async def test_who_waits_for_a_place_is_not_held_by_the_limit() -> None:
    app = await open_test_app()
    await app.login("root", ADMIN)
    await app.make_tenant("acme")

    async def ask(method: str, path: str) -> httpx.Response:
        files = {"file": ("a.csv", "name\r\n")} if method == "POST" else None
        return await app.call(method, path, as_whom="root in acme", files=files)

    slots = app.services.exporting.slots
    slots.total = 0
    for method, path in (("GET", "/api/products/export"), ("POST", "/api/products/import")):
        refused = [await ask(method, path) for _ in range(7)]
        assert {(answer.status_code, answer.headers["Retry-After"]) for answer in refused} == {(429, "10")}
        assert {answer.headers["X-RateLimit-Remaining"] for answer in refused} == {"4"}
    slots.total = 8
    answers = [await ask("GET", "/api/products/export") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    assert int(answers[-1].headers["Retry-After"]) > 10


async def test_where_limits_only_count_a_request_beyond_them_has_nothing_to_take_back() -> None:
    app, hits = await open_test_app({"TENANTRY_RATE_LIMITS": "count"}), [Hit(Limit("x", 2), "somebody")]
    admitted = [await app.services.throttle.admit(hits, None, []) for _ in range(3)]
    assert [(each.refusal, each.counted) for each in admitted] == [
        (None, hits),
        (None, hits),
        (None, ()),
    ]


class QueuedPasswords(MemoryPasswords):
    """Refuses to verify while its queue is full."""

    is_full = False

    async def verify(self, password: str, stored: str | None) -> bool:
        if self.is_full:
            raise TooBusy
        return await super().verify(password, stored)


async def test_a_login_whose_password_was_not_verified_is_no_attempt() -> None:
    settings, passwords = read_settings(SETTINGS), QueuedPasswords()
    adapters = replace(memory_adapters(settings, registry_of(ENTITIES)), passwords=passwords)
    services = assemble(adapters, settings)
    await prepare_memory(services)
    app = TestApp(client_of(services, HttpSettings()), services, adapters)
    body = {"email": ADMIN, "password": PASSWORD, "isPasswordEncrypted": False}

    async def log_in(times: int) -> list[int]:
        return [(await app.call("POST", "/api/auth/login", json=body)).status_code for _ in range(times)]

    passwords.is_full = True
    assert await log_in(12) == [429] * 12
    passwords.is_full = False
    assert await log_in(11) == [200] * 10 + [429]
