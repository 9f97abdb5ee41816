"""Two tenants with rows of every entity with a feed, and every kind of reader of their changes."""

from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from adapters.http.app import HttpSettings
from adapters.memory.outgoing import MemoryRequests
from adapters.system import Uuid7Ids
from application.ports.whole_database import WholeDatabase
from entrypoints.assembly.adapters import memory_adapters
from entrypoints.assembly.use_cases import assemble
from entrypoints.settings.settings import read_settings
from tests.builders import ensure_keys
from tests.contracts.entities.changes.followed_entities import FEEDS, REGISTRY
from tests.http.app import ADMIN, PASSWORD, SETTINGS, Json, TestApp, client_of
from tests.http.entities.changes.open_streams import pieces

ROLES = {
    "owner": ["read:boards", "read-own:cards", "read-own:tickets", "delete-own:cards", "delete-own:tickets"],
    "reader": [f"read:{plural}" for plural in FEEDS],
    "deleter": [f"{action}:{plural}" for plural in FEEDS for action in ("read", "delete")],
    "powerless": ["paint:walls"],
}
TEXTS = {"cards": "title", "steps": "text", "tickets": "title"}
"""Fields for a text, of entities without a name."""


@dataclass
class Readers:
    """``acme`` and ``other`` have an admin with this name; each user of ROLES is a member of ``acme``."""

    app: TestApp
    tenants: dict[str, str] = field(default_factory=dict)
    users: dict[str, str] = field(default_factory=dict)
    accounts: dict[str, str] = field(default_factory=dict)

    async def call(self, whom: str, method: str, path: str, body: object = None, status: int = 200) -> Any:
        answer = await self.app.call(method, f"/api/{path}", as_whom=whom, json=body)
        assert answer.status_code == status, answer.text
        return answer.json()["data"] if answer.content else None

    async def make(self, plural: str, text: str, whom: str = "acme", **values: object) -> str:
        if plural == "steps":
            values["cardId"] = await self.make("cards", "card of the step", whom)
        made: str = (await self.call(whom, "POST", plural, {TEXTS.get(plural, "name"): text, **values}, 201))["id"]
        return made

    async def write_all(self, plural: str, text: str, whom: str = "acme", **values: object) -> str:
        """Make a row with the text, change it, and delete it by all ways that the entity has."""
        row_id = await self.make(plural, text, whom, **values)
        path, changed = f"{plural}/{row_id}", {TEXTS.get(plural, "name"): f"{text}, changed"}
        await self.call(whom, "PUT", path, changed)
        await self.call(whom, "DELETE", path, status=204)
        if REGISTRY[plural].soft_delete:
            await self.call(whom, "POST", f"{path}/restore")
            await self.call(whom, "DELETE", path, status=204)
            await self.call(whom, "DELETE", f"{path}?permanent=true", status=204)
        await self.sequence()
        return row_id

    async def sequence(self) -> None:
        sequencer = self.app.services.sequencer
        assert sequencer is not None
        while await sequencer.sequence():
            pass

    async def cursor(self, whom: str, **headers: str) -> str:
        await self.sequence()
        answer = await self.app.call("GET", "/api/changes", as_whom=whom, headers=headers)
        found: str = answer.json()["data"]["cursor"]
        return found

    async def answers(self, whom: str, plural: str, after: str, *filters: str, **headers: str) -> dict[str, bytes]:
        """What each route answers: pages, and streams that resume. Filters are for those of one entity."""
        found = {}
        for path in (f"{plural}/changes", f"{plural}/changes/stream", *(() if filters else ALL)):
            query = "&".join([f"after={after}", *filters])
            if path.endswith("stream"):
                stream = pieces(self.app, path, whom, query, **headers)
                # The first piece of a resumed stream has all events that it missed.
                found[path] = await anext(stream)
                await stream.aclose()
            else:
                sent = {name.replace("_", "-"): text for name, text in headers.items()}
                answer = await self.app.call("GET", f"/api/{path}?{query}", as_whom=whom, headers=sent)
                assert answer.status_code == 200, answer.text
                found[path] = answer.content
        return found

    async def delivered(self, reader: str, plural: str) -> bytes:
        """The bodies that a webhook of a service account with the reader's permissions receives after this call."""
        outgoing = self.app.adapters.webhooks.outgoing
        assert isinstance(outgoing, MemoryRequests)
        outgoing.sent.clear()
        services = self.app.services
        while await services.fan_out.fan_out():
            pass
        while await services.deliverer.deliver():
            await services.deliverer.settle()
        url = self.url(reader, plural)
        return b"\n".join(sent.body for sent in outgoing.sent if sent.url == url)

    def url(self, reader: str, plural: str) -> str:
        return f"https://{reader}.example/{plural}"

    async def add_account(self, tenant: str, name: str, role: str) -> None:
        """Make a service account with a role, and a webhook for each entity that the role's name may read."""
        account = await self.call(tenant, "POST", "service-accounts", {"name": name, "roles": [role]}, 201)
        self.accounts[name] = account["id"]
        for plural in ("cards", "tickets") if name == "owner" else FEEDS:
            form = {"url": self.url(name, plural), "serviceAccountId": account["id"], "events": [f"{plural}.*"]}
            await self.call(tenant, "POST", "webhooks", form, 201)


ALL = ("changes", "changes/stream")


def actions(page: bytes, row_id: str) -> list[str]:
    """The actions of a row in a page of the feed or in a stream."""
    if page.startswith(b"{"):
        events = msgspec.json.decode(page)["data"]["items"]
    else:
        data = [line.removeprefix("data: ") for line in page.decode().splitlines() if line.startswith("data: ")]
        events = [msgspec.json.decode(text) for text in data]
    return [event["action"] for event in events if event["id"] == row_id]


async def open_readers(database: WholeDatabase) -> Readers:
    settings = read_settings({**SETTINGS, "TENANTRY_RATE_LIMITS": "count"})
    made = memory_adapters(settings, REGISTRY)
    adapters = replace(made, database=database, ids=Uuid7Ids())
    services = assemble(adapters, settings)
    await ensure_keys(services)
    await services.first_start.prepare(ADMIN, PASSWORD)
    readers = Readers(TestApp(client_of(services, HttpSettings()), services, adapters))
    app = readers.app
    await app.login("root", ADMIN)
    for name in ("acme", "other"):
        readers.tenants[name] = await app.make_tenant(name)
        await app.make_user(name, f"admin@{name}.example", ["Admin"])
        await app.login(name, f"admin@{name}.example")
    for name, permissions in ROLES.items():
        await app.make_role("acme", name, permissions)
        readers.users[name] = await app.make_user("acme", f"{name}@acme.example", [name])
        await app.login(name, f"{name}@acme.example")
    await _add_global(readers)
    for name in ("owner", "reader"):
        await readers.add_account("acme", name, name)
    await readers.add_account("other", "robot", "Admin")
    key: Json = await readers.call(
        "other", "POST", f"service-accounts/{readers.accounts['robot']}/keys", {"name": "k"}, 201
    )
    app.tokens["robot"] = key["key"]
    return readers


async def _add_global(readers: Readers) -> None:
    both = await readers.app.make_user("acme", "both@acme.example", ["Admin"])
    body = {"userId": both, "roles": ["Admin"]}
    await readers.app.call("POST", f"/api/tenants/{readers.tenants['other']}/users", as_whom="root", json=body)
    assert (await readers.app.login("global", "both@acme.example"))["isGlobal"]
