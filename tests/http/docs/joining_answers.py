"""Answers of joining by domain, for the test that has every operation answered."""

from typing import cast

from msgspec.structs import replace

from adapters.memory.clock import MovableClock
from adapters.memory.dns import MemoryDnsRecords
from application.identity.joining.domain_joining import KNOWN_FOR
from domain.scope import EveryTenant
from tests.builders import user
from tests.http.app import PASSWORD, TestApp


async def join_by_domain(app: TestApp) -> None:
    path = "/api/tenants/current/domains"
    body = {"domain": "people.example", "mode": "request"}
    record = (await app.call("POST", path, as_whom="root in acme", json=body)).json()["data"]["record"]
    cast(MemoryDnsRecords, app.adapters.dns).records[record["name"]] = [record["value"]]
    assert (await app.call("POST", f"{path}/people.example/verify", as_whom="root in acme")).status_code == 200
    cast(MovableClock, app.adapters.clock).move(KNOWN_FOR)
    async with app.services.database.transaction(EveryTenant()) as tx:
        for name in ("first", "second"):
            found = user(email=f"{name}@people.example", email_confirmed=True, email_proved=True)
            password = await app.adapters.passwords.hash(PASSWORD)
            await tx.users.add(replace(found, password_hash=password, password_set_at=found.created_at))
    for name in ("first", "second"):
        await app.login(name, f"{name}@people.example")
    waiting = (await app.call("GET", "/api/join-requests", as_whom="root in acme")).json()["data"]["items"]
    first, second = [f"/api/join-requests/{item['id']}" for item in waiting]
    assert (await app.call("POST", f"{first}/approve", as_whom="root in acme", json={})).status_code == 200
    assert (await app.call("DELETE", second, as_whom="root in acme")).status_code == 200
    assert (await app.call("GET", path, as_whom="root in acme")).status_code == 200
    assert (await app.call("DELETE", f"{path}/people.example", as_whom="root in acme")).status_code == 200
