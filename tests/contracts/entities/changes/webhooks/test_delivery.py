"""Deliveries: what arrives, in which order, how often, and what a failure does."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from standardwebhooks import Webhook as Verifier

from adapters.memory.outgoing import MemoryRequests, Sent
from application.entities.webhooks.deliveries import DeliveryAdministration
from application.entities.webhooks.forms import ReplayForm, WebhookChange
from application.ports.outgoing import NotAnswered, Reply
from domain.entities.webhooks.deliveries import RETRIED_AFTER
from domain.errors import NotFound
from domain.scope import EveryTenant
from tests.contracts.entities.changes.conftest import Desk
from tests.contracts.entities.changes.webhooks.conftest import CLIENT, Hooks, body_of


def failing(sent: Sent) -> Reply:
    return Reply(500, None)


@pytest.mark.promise("webhooks, deliveries: each change of a row arrives once, signed, with what changed")
async def test_changes_arrive_signed(hooks: Hooks) -> None:
    webhook = await hooks.make("labels.*")
    row = await hooks.desk.add("labels", name="new")
    await hooks.desk.change("labels", row, name="newer")
    await hooks.desk.remove("labels", row)
    await hooks.deliver()
    bodies = [body_of(sent) for sent in hooks.sent]
    assert [(each["type"], each["data"]["version"], each["data"]["changed"]) for each in bodies] == [
        ("labels.created", 1, []),
        ("labels.changed", 2, ["name"]),
        ("labels.deleted", 3, []),
    ]
    assert [each["data"]["object"] and each["data"]["object"]["name"] for each in bodies] == ["new", "newer", None]
    assert {each["data"]["id"] for each in bodies} == {str(row)}
    assert webhook.secret is not None
    for sent in hooks.sent:
        expected = Verifier(webhook.secret).sign(sent.headers["webhook-id"], hooks.clock.now(), sent.body.decode())
        assert sent.headers["webhook-signature"] == expected
    assert len({sent.headers["webhook-id"] for sent in hooks.sent}) == 3
    await hooks.deliver()
    assert len(hooks.sent) == 3
    assert hooks.outcomes == ["delivered"] * 3
    assert [each.state for each in await hooks.listed(webhook)] == ["delivered"] * 3


@pytest.mark.promise("webhooks, deliveries: a webhook receives the events that its patterns name")
async def test_patterns_choose_events(hooks: Hooks) -> None:
    await hooks.make("labels.deleted", "boards.*", content="thin")
    row = await hooks.desk.add("labels")
    await hooks.desk.add("boards")
    await hooks.desk.add("colours")
    await hooks.desk.remove("labels", row)
    await hooks.deliver()
    # Events of different rows have no order.
    assert sorted(body_of(sent)["type"] for sent in hooks.sent) == ["boards.created", "labels.deleted"]
    assert [body_of(sent)["data"]["object"] for sent in hooks.sent] == [None, None]


async def test_rows_that_all_tenants_share_arrive(hooks: Hooks) -> None:
    await hooks.make("colours.*")
    row = await hooks.desk.add("colours", name="red")
    await hooks.deliver()
    assert [body_of(sent)["data"]["id"] for sent in hooks.sent] == [str(row)]


@pytest.mark.promise("webhooks, deliveries: a webhook receives nothing of another tenant")
async def test_nothing_of_another_tenant_arrives(hooks: Hooks) -> None:
    await hooks.make("labels.*")
    other = Desk(hooks.desk.database)
    await other.add("labels")
    await hooks.deliver()
    assert hooks.sent == []


@pytest.mark.promise("webhooks, deliveries: only data that the service account may read at that moment arrives")
async def test_rights_of_the_service_account_decide(hooks: Hooks) -> None:
    limited, full = await hooks.account("read:cards"), await hooks.account("read:cards", "read:secrets")
    nothing = await hooks.account("read:labels")
    urls = {name: f"https://{name}.example" for name in ("limited", "full", "nothing")}
    for account, url in zip((limited, full, nothing), urls.values(), strict=True):
        await hooks.make("cards.*", account=account, url=url)
    card = await hooks.desk.add("cards", secret="hidden")
    await hooks.desk.change("cards", card, secret="more")
    await hooks.deliver()
    seen = {name: [body_of(sent)["data"] for sent in hooks.sent if sent.url == url] for name, url in urls.items()}
    assert [data["object"].get("secret") for data in seen["full"]] == ["hidden", "more"]
    assert [("secret" in data["object"], data["changed"]) for data in seen["limited"]] == [(False, []), (False, [])]
    assert seen["nothing"] == []
    await hooks.disable_account(full)
    await hooks.desk.change("cards", card, secret="last")
    await hooks.deliver()
    assert [sent.url for sent in hooks.sent].count(urls["full"]) == 2
    assert [sent.url for sent in hooks.sent].count(urls["limited"]) == 3


@pytest.mark.promise("webhooks, deliveries: rights that end before a retry end the delivery, without a request")
async def test_rights_that_end_before_the_retry_end_the_delivery(hooks: Hooks) -> None:
    account = await hooks.account("read:labels")
    webhook = await hooks.make("labels.*", account=account)
    assert isinstance(hooks.outgoing, MemoryRequests)
    hooks.outgoing.answer = failing
    await hooks.desk.add("labels")
    await hooks.deliver()
    async with hooks.desk.database.transaction(EveryTenant()) as tx:
        await tx.service_accounts.save(replace(hooks.accounts[str(account)], roles=()))
    hooks.clock.move(timedelta(seconds=10))
    await hooks.deliver()
    (listed,) = await hooks.listed(webhook)
    assert (listed.state, listed.last_status, len(hooks.sent)) == ("given-up", None, 1)
    assert listed.last_error is not None
    assert "may not read" in listed.last_error


@pytest.mark.promise("webhooks, deliveries: own rows of the service account enter and leave")
async def test_own_rows_enter_and_leave(hooks: Hooks) -> None:
    account = await hooks.account("read-own:tickets")
    await hooks.make("tickets.*", account=account)
    row = await hooks.desk.add("tickets", title="not its own")
    await hooks.desk.change("tickets", row, owner_id=str(account))
    await hooks.desk.change("tickets", row, title="renamed")
    await hooks.desk.change("tickets", row, owner_id=None)
    await hooks.desk.change("tickets", row, title="unseen")
    await hooks.deliver()
    found = [(body_of(sent)["type"], body_of(sent)["data"]["object"]) for sent in hooks.sent]
    assert [name for name, _ in found] == ["tickets.entered", "tickets.changed", "tickets.left"]
    assert found[2][1] is None
    assert not any(b"unseen" in sent.body for sent in hooks.sent)


async def test_rows_that_a_relation_makes_own_are_looked_for(hooks: Hooks) -> None:
    account = await hooks.account("read-own:cards")
    await hooks.make("cards.*", account=account)
    board, other = await hooks.desk.add("boards"), await hooks.desk.add("boards")
    await hooks.desk.add("helpers", board_id=board, user_id=account)
    seen = await hooks.desk.add("cards", board_id=board)
    await hooks.desk.add("cards", board_id=other)
    await hooks.deliver()
    assert [body_of(sent)["data"]["id"] for sent in hooks.sent] == [str(seen)]


async def test_a_change_of_a_deleted_row_is_not_delivered(hooks: Hooks) -> None:
    await hooks.make("cards.*")
    colour = await hooks.desk.add("colours")
    cards = [await hooks.desk.add("cards", colour_id=colour) for _ in range(2)]
    await hooks.desk.remove("cards", cards[0])
    await hooks.desk.purge("colours", colour)
    await hooks.deliver()
    found = [(body_of(sent)["type"], body_of(sent)["data"]["id"]) for sent in hooks.sent]
    assert [row_id for name, row_id in found if name == "cards.changed"] == [str(cards[1])]
    assert ("cards.deleted", str(cards[0])) in found


@pytest.mark.promise("webhooks, deliveries: a failure is retried after 5 s, 30 s, … and then given up")
async def test_failures_are_retried_and_given_up(hooks: Hooks) -> None:
    webhook = await hooks.make("labels.*")
    assert isinstance(hooks.outgoing, MemoryRequests)
    hooks.outgoing.answer = failing
    await hooks.desk.add("labels")
    await hooks.deliver()
    for number, wait in enumerate(RETRIED_AFTER, 1):
        assert len(hooks.sent) == number
        hooks.clock.move(wait * 0.79)
        await hooks.deliver()
        assert len(hooks.sent) == number
        hooks.clock.move(wait * 0.42)
        await hooks.deliver()
    (listed,) = await hooks.listed(webhook)
    assert (listed.state, listed.tries, listed.last_status, listed.due_at) == ("given-up", 10, 500, None)
    assert len({sent.headers["webhook-id"] for sent in hooks.sent}) == 1
    assert hooks.outcomes == ["failed"] * 9 + ["given-up"]


async def test_a_receiver_may_ask_for_a_later_retry(hooks: Hooks) -> None:
    await hooks.make("labels.*")
    assert isinstance(hooks.outgoing, MemoryRequests)
    hooks.outgoing.answer = lambda sent: Reply(429, "120")
    await hooks.desk.add("labels")
    await hooks.deliver()
    hooks.clock.move(timedelta(seconds=119))
    await hooks.deliver()
    assert len(hooks.sent) == 1
    hooks.clock.move(timedelta(seconds=1))
    await hooks.deliver()
    assert len(hooks.sent) == 2


@pytest.mark.promise("webhooks, deliveries: a row's next event waits for the previous one")
@pytest.mark.parametrize("order", ["row", "none"])
async def test_a_rows_events_wait_for_the_previous_one(hooks: Hooks, order: str) -> None:
    webhook = await hooks.make("labels.*", order=order)
    assert isinstance(hooks.outgoing, MemoryRequests)
    row, other = await hooks.desk.add("labels"), await hooks.desk.add("labels")
    await hooks.deliver()
    del hooks.sent[:]
    hooks.outgoing.answer = lambda sent: Reply(500 if str(row).encode() in sent.body else 200, None)
    for name in ("first", "second"):
        await hooks.desk.change("labels", row, name=name)
    await hooks.deliver()
    assert [body_of(sent)["data"]["version"] for sent in hooks.sent] == [2] + [3] * (order == "none")
    await hooks.desk.change("labels", other, name="free")
    await hooks.deliver()
    assert str(other) in [body_of(sent)["data"]["id"] for sent in hooks.sent]
    hooks.outgoing.answer = lambda sent: Reply(200, None)
    hooks.clock.move(timedelta(seconds=7))
    await hooks.deliver()
    assert {each.state for each in await hooks.listed(webhook)} == {"delivered"}
    if order == "row":
        assert [body_of(sent)["data"]["version"] for sent in hooks.sent if str(row).encode() in sent.body] == [2, 2, 3]


@pytest.mark.promise("webhooks, health: failing since the first failure, ok after a success")
async def test_health_follows_the_outcomes(hooks: Hooks) -> None:
    webhook = await hooks.make("labels.*")
    assert isinstance(hooks.outgoing, MemoryRequests)
    hooks.outgoing.answer = failing
    await hooks.desk.add("labels")
    await hooks.deliver()
    health = (await hooks.get(webhook)).health
    assert (health.state, health.failing_since, health.last_status, health.waiting) == (
        "failing",
        hooks.clock.now(),
        500,
        1,
    )
    hooks.outgoing.answer = lambda sent: Reply(204, None)
    hooks.clock.move(timedelta(seconds=10))
    await hooks.deliver()
    health = (await hooks.get(webhook)).health
    assert (health.state, health.failing_since, health.last_success_at, health.last_status, health.waiting) == (
        "ok",
        None,
        hooks.clock.now(),
        204,
        0,
    )


@pytest.mark.promise("webhooks, health: 410 disables at once, three days without success disable too")
@pytest.mark.parametrize("status", [410, 503])
async def test_a_webhook_that_is_gone_is_disabled(hooks: Hooks, status: int) -> None:
    webhook = await hooks.make("labels.*")
    assert isinstance(hooks.outgoing, MemoryRequests)
    hooks.outgoing.answer = lambda sent: Reply(status, None)
    await hooks.desk.add("labels")
    await hooks.deliver()
    if status == 503:
        assert (await hooks.get(webhook)).is_active
        hooks.clock.move(timedelta(days=3))
        await hooks.deliver()
    found = await hooks.get(webhook)
    assert (found.is_active, found.health.state) == (False, "disabled")
    await hooks.desk.add("labels")
    hooks.clock.move(timedelta(days=1))
    count = len(hooks.sent)
    await hooks.deliver()
    assert len(hooks.sent) == count
    hooks.outgoing.answer = lambda sent: Reply(200, None)
    changed = await hooks.administration.update(hooks.admin, webhook.id, WebhookChange(is_active=True), CLIENT)
    assert (changed.health.state, changed.health.failing_since) == ("ok", None)
    await hooks.deliver()
    # The delivery that waited arrives; what happened while the webhook was disabled does not.
    assert len(hooks.sent) == count + 1


async def test_an_unreachable_receiver_is_retried_with_its_reason(hooks: Hooks) -> None:
    webhook = await hooks.make("labels.*")
    assert isinstance(hooks.outgoing, MemoryRequests)

    def refuse(sent: Sent) -> Reply:
        raise NotAnswered("timeout")

    hooks.outgoing.answer = refuse
    await hooks.desk.add("labels")
    await hooks.deliver()
    (listed,) = await hooks.listed(webhook)
    assert (listed.state, listed.last_status, listed.last_error) == ("waiting", None, str(NotAnswered("timeout")))


@pytest.mark.promise("webhooks, deliveries: a retry and a replay send the same webhook-id again")
async def test_retries_and_replays_send_the_same_id(hooks: Hooks) -> None:
    webhook = await hooks.make("labels.*")
    start = hooks.clock.now()
    for _ in range(3):
        await hooks.desk.add("labels")
    await hooks.deliver()
    ids = [sent.headers["webhook-id"] for sent in hooks.sent]
    administration: DeliveryAdministration = hooks.deliveries
    await administration.retry(hooks.admin, webhook.id, ids[1])
    await hooks.deliver()
    assert [sent.headers["webhook-id"] for sent in hooks.sent[3:]] == [ids[1]]
    for unknown in ("msg_01900000-0000-7000-8000-000000000000", "nothing"):
        with pytest.raises(NotFound):
            await administration.retry(hooks.admin, webhook.id, unknown)
    after = (start - timedelta(hours=1)).isoformat()
    await administration.replay(hooks.admin, webhook.id, ReplayForm(after=after), CLIENT)
    await hooks.deliver()
    assert sorted(sent.headers["webhook-id"] for sent in hooks.sent[4:]) == sorted(ids)
    await hooks.deliver()
    assert len(hooks.sent) == 7


async def test_lists_are_filtered_and_paged(hooks: Hooks) -> None:
    webhook = await hooks.make("labels.*")
    row = await hooks.desk.add("labels")
    await hooks.deliver()
    await hooks.desk.remove("labels", row)
    await hooks.spread()
    assert [each.event for each in await hooks.listed(webhook)] == ["labels.deleted", "labels.created"]
    assert [each.event for each in await hooks.listed(webhook, ("state", "waiting"))] == ["labels.deleted"]
    assert [each.event for each in await hooks.listed(webhook, ("event", "labels.created"))] == ["labels.created"]
    page = await hooks.deliveries.page(hooks.admin, webhook.id, [("pageSize", "1"), ("page", "3")])
    assert (page.items, page.total_count, page.total_pages) == ([], 2, 2)
