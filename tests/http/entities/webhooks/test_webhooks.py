"""/api/webhooks on the wire: administration, what is shown once, deliveries, and what nobody may do."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from msgspec import Struct

from adapters.memory.outgoing import MemoryRequests
from application.ports.outgoing import Reply
from domain.entities.catalogue import ENTITIES
from domain.entities.markers import entity
from domain.entities.webhooks.webhooks import WEBHOOKS_PER_TENANT
from tests.http.app import ADMIN, Json, TestApp, open_test_app

HOOKS = "/api/webhooks"
UNKNOWN = "01900000-0000-7000-8000-000000000000"


@entity("postings", changes=True)
class Posting(Struct):
    """An entity with a feed."""

    name: str


@dataclass
class Place:
    """``acme`` and ``other`` with an admin each, a reader of webhooks in ``acme``, and service accounts of both."""

    app: TestApp
    accounts: dict[str, str]

    async def call(self, whom: str, method: str, path: str, body: object = None, status: int | None = None) -> Any:
        answer = await self.app.call(method, path, as_whom=whom, json=body)
        assert status is None or answer.status_code == status, answer.text
        return answer

    def form(self, **given: object) -> Json:
        body = {"url": "https://hooks.example/a", "serviceAccountId": self.accounts["acme"], "events": ["postings.*"]}
        return {**body, **given}

    async def make(self, **given: object) -> Json:
        made: Json = (await self.call("acme", "POST", HOOKS, self.form(**given), 201)).json()["data"]
        return made

    @property
    def outgoing(self) -> MemoryRequests:
        outgoing = self.app.adapters.webhooks.outgoing
        assert isinstance(outgoing, MemoryRequests)
        return outgoing

    async def deliver(self) -> None:
        while await self.app.services.fan_out.fan_out():
            pass
        while await self.app.services.deliverer.deliver():
            await self.app.services.deliverer.settle()


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    app = await open_test_app(entities=(*ENTITIES, Posting), counts_limits=False)
    await app.login("root", ADMIN)
    accounts = {}
    for identifier in ("acme", "other"):
        await app.make_tenant(identifier)
        await app.make_user(identifier, f"admin@{identifier}.example", ["Admin"])
        await app.login(identifier, f"admin@{identifier}.example")
        robot = {"name": "Robot", "roles": ["Admin"]}
        answer = await app.call("POST", "/api/service-accounts", as_whom=identifier, json=robot)
        accounts[identifier] = answer.json()["data"]["id"]
    await app.make_role("acme", "Watcher", ["*:webhooks", "read:postings"])
    await app.make_user("acme", "watcher@acme.example", ["Watcher"])
    await app.login("watcher", "watcher@acme.example")
    yield Place(app, accounts)
    await app.client.aclose()


@pytest.mark.promise("GET /api/webhooks")
@pytest.mark.promise("POST /api/webhooks: the secret is shown once")
@pytest.mark.promise("GET /api/webhooks/{webhook_id}")
@pytest.mark.promise("PUT /api/webhooks/{webhook_id}")
@pytest.mark.promise("DELETE /api/webhooks/{webhook_id}")
async def test_a_webhook_is_made_read_changed_and_deleted(place: Place) -> None:
    made = await place.make(description="ERP")
    secret = made.pop("secret")
    assert secret.startswith("whsec_")
    health = {"state": "ok", "lastSuccessAt": None, "failingSince": None, "lastStatus": None, "waiting": 0}
    assert made == {
        **place.form(description="ERP"),
        "id": made["id"],
        "content": "full",
        "signature": "v1",
        "order": "row",
        "isActive": True,
        "publicKey": None,
        "createdAt": made["createdAt"],
        "createdBy": made["createdBy"],
        "health": health,
    }
    path = f"{HOOKS}/{made['id']}"
    assert (await place.call("acme", "GET", path, None, 200)).json()["data"] == made
    assert (await place.call("acme", "GET", HOOKS, None, 200)).json()["data"] == [made]
    assert (await place.call("other", "GET", HOOKS, None, 200)).json()["data"] == []
    changes = {"events": ["postings.deleted"], "order": "none", "content": "thin", "isActive": False}
    changed = (await place.call("acme", "PUT", path, changes, 200)).json()["data"]
    assert changed == {**made, **changes}
    await place.call("acme", "DELETE", path, None, 204)
    await place.call("acme", "GET", path, None, 404)
    trail = (await place.call("acme", "GET", "/api/audit-events?sort=occurredAt:asc")).json()["data"]["items"]
    actions = [line["action"] for line in trail if line["action"].startswith("webhook.")]
    assert actions == ["webhook.created", "webhook.changed", "webhook.deleted"]


@pytest.mark.promise("POST /api/webhooks/{webhook_id}/secret: a new secret, and both sign for 24 hours")
async def test_both_secrets_sign_after_a_rotation(place: Place) -> None:
    made = await place.make()
    path = f"{HOOKS}/{made['id']}"
    rotated = (await place.call("acme", "POST", f"{path}/secret", None, 200)).json()["data"]
    assert rotated["secret"] != made["secret"]
    assert {**rotated, "secret": ""} == {**made, "secret": ""}
    for hours, count in ((0, 2), (23, 2), (2, 1)):
        place.app.clock.move(timedelta(hours=hours))
        await place.app.login("acme", "admin@acme.example")
        await place.call("acme", "POST", f"{path}/test", None, 200)
        assert len(place.outgoing.sent[-1].headers["webhook-signature"].split(" ")) == count


async def test_a_public_key_is_always_shown(place: Place) -> None:
    made = await place.make(signature="v1a")
    assert made.pop("secret") is None
    assert made["publicKey"].startswith("whpk_")
    assert (await place.call("acme", "GET", f"{HOOKS}/{made['id']}")).json()["data"] == made


@pytest.mark.promise("POST /api/webhooks/{webhook_id}/test")
async def test_a_test_answers_with_the_receivers_status(place: Place) -> None:
    made = await place.make()
    path = f"{HOOKS}/{made['id']}/test"
    place.outgoing.answer = lambda sent: Reply(418, None)
    result = (await place.call("acme", "POST", path, None, 200)).json()["data"]
    assert (result["status"], result["error"]) == (418, None)
    assert b'"type":"webhook.test"' in place.outgoing.sent[-1].body


@pytest.mark.promise("GET /api/webhooks/{webhook_id}/deliveries")
@pytest.mark.promise("POST /api/webhooks/{webhook_id}/deliveries/{message_id}/retry")
@pytest.mark.promise("POST /api/webhooks/{webhook_id}/replay")
async def test_deliveries_are_listed_retried_and_replayed(place: Place) -> None:
    made = await place.make()
    path = f"{HOOKS}/{made['id']}"
    row = (await place.call("acme", "POST", "/api/postings", {"name": "first"}, 201)).json()["data"]
    await place.deliver()
    (sent,) = place.outgoing.sent
    page = (await place.call("acme", "GET", f"{path}/deliveries?state=delivered", None, 200)).json()["data"]
    (item,) = page["items"]
    assert (item["id"], item["event"], item["rowId"], item["state"], item["lastStatus"]) == (
        sent.headers["webhook-id"],
        "postings.created",
        row["id"],
        "delivered",
        200,
    )
    await place.call("acme", "POST", f"{path}/deliveries/{item['id']}/retry", None, 204)
    await place.deliver()
    await place.call("acme", "POST", f"{path}/replay", {"after": "2020-01-01T00:00:00Z"}, 204)
    await place.deliver()
    assert [each.headers["webhook-id"] for each in place.outgoing.sent] == [item["id"]] * 3
    await place.call("acme", "GET", f"{path}/deliveries?state=lost", None, 400)
    await place.call("acme", "POST", f"{path}/replay", {"after": "yesterday"}, 400)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"url": "http://hooks.example"}, "url"),
        ({"url": "https://intranet.internal"}, "url"),
        ({"url": "https://0x7f.1"}, "url"),
        ({"events": []}, "events"),
        ({"events": ["products.*"]}, "events[0]"),
        ({"events": ["postings.*", "postings.painted"]}, "events[1]"),
        ({"serviceAccountId": UNKNOWN}, "serviceAccountId"),
        ({"content": "fat"}, "content"),
        ({"order": "tenant"}, "order"),
        ({"signature": "v2"}, "signature"),
    ],
)
async def test_wrong_fields_are_refused(place: Place, given: Json, field: str) -> None:
    answer = await place.call("acme", "POST", HOOKS, place.form(**given), 400)
    assert [error["field"] for error in answer.json()["error"]["details"]] == [field]


@pytest.mark.promise("webhooks, administration: the maker holds the permissions of the service account")
async def test_nobody_reads_more_by_a_webhook(place: Place) -> None:
    made = await place.make()
    for method, path, body in (
        ("POST", HOOKS, place.form()),
        ("PUT", f"{HOOKS}/{made['id']}", {"url": "https://mine.example"}),
        ("POST", f"{HOOKS}/{made['id']}/secret", None),
    ):
        await place.call("watcher", method, path, body, 403)
    foreign = place.form(serviceAccountId=place.accounts["other"])
    await place.call("acme", "POST", HOOKS, foreign, 400)


@pytest.mark.promise("webhooks, administration: another tenant's webhooks do not exist")
async def test_webhooks_of_another_tenant_do_not_exist(place: Place) -> None:
    path = f"{HOOKS}/{(await place.make())['id']}"
    for method, below, body in (
        ("GET", "", None),
        ("PUT", "", {"description": "mine"}),
        ("DELETE", "", None),
        ("POST", "/secret", None),
        ("POST", "/test", None),
        ("GET", "/deliveries", None),
        ("POST", f"/deliveries/msg_{UNKNOWN}/retry", None),
        ("POST", "/replay", {"after": "2020-01-01T00:00:00Z"}),
    ):
        await place.call("other", method, path + below, body, 404)
    await place.call("acme", "GET", path, None, 200)


@pytest.mark.promise("webhooks, administration: new webhooks, secrets and other hosts need a recent proof")
async def test_a_recent_proof_is_needed(place: Place) -> None:
    path = f"{HOOKS}/{(await place.make())['id']}"
    place.app.clock.move(timedelta(minutes=11))
    for method, to, body in (
        ("POST", HOOKS, place.form()),
        ("POST", f"{path}/secret", None),
        ("PUT", path, {"url": "https://elsewhere.example"}),
    ):
        answer = await place.call("acme", method, to, body)
        assert answer.json()["error"]["code"] == "REAUTHENTICATION_REQUIRED"
    await place.call("acme", "PUT", path, {"url": "https://hooks.example/b"}, 200)


@pytest.mark.promise("webhooks, administration: a tenant has at most 20 webhooks (QUOTA_EXCEEDED)")
async def test_a_tenant_has_some_webhooks_only(place: Place) -> None:
    for _ in range(WEBHOOKS_PER_TENANT):
        await place.make()
    answer = await place.call("acme", "POST", HOOKS, place.form())
    assert answer.json()["error"]["code"] == "QUOTA_EXCEEDED"
    assert (await place.call("other", "POST", HOOKS, place.form(serviceAccountId=place.accounts["other"]))).is_success
