"""Delivery of mails: at least once, never after a rollback, through crashes and outages."""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from msgspec.structs import replace

from adapters.joserfc.link_secrets import DerivedLinkSecrets
from adapters.mail.renderer import JinjaMailRenderer
from adapters.memory.clock import MovableClock
from adapters.memory.mail import MemoryMailer
from application.operations.mail_delivery import GIVEN_UP_AFTER, HELD, LINKS, OutboxRelay, Pages, pause
from application.ports.database import Mail, MailKind
from application.ports.mail_delivery import Mailer, MailServerUnavailable, Message, Undeliverable
from application.ports.whole_database import WholeDatabase
from domain.identity.typed_codes import token_hash
from domain.identity.users import TenantSettings, User
from domain.scope import EveryTenant
from tests.builders import NOW, link_in, new_id, said_by, tenant, user

SECRETS = DerivedLinkSecrets("a secret key for tests, long enough")


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(NOW)


@pytest.fixture
def mailer() -> MemoryMailer:
    return MemoryMailer()


@pytest.fixture
async def ada(database: WholeDatabase) -> User:
    person = user(email="Ada@Example.com", full_name="Ada Byron")
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(person)
    return person


def relay_of(database: WholeDatabase, mailer: Mailer, clock: MovableClock) -> OutboxRelay:
    app = "https://app.example"
    pages = Pages(confirm=f"{app}/confirm?lang=en", reset=f"{app}/reset", invitation=f"{app}/join")
    return OutboxRelay(database, JinjaMailRenderer("Acme"), mailer, SECRETS, clock, pages)


async def put_in(database: WholeDatabase, kind: MailKind = "reset", recipient: str = "ada@example.com") -> Mail:
    mail = Mail(id=new_id(), kind=kind, recipient=recipient, name="Ada Byron", address="192.0.2.1", at=NOW)
    async with database.transaction(EveryTenant()) as tx:
        await tx.outbox.add(mail)
    return mail


async def is_empty(database: WholeDatabase) -> bool:
    async with database.autocommit(EveryTenant()) as tx:
        return not await tx.outbox.take(100, NOW + timedelta(days=365), timedelta())


@pytest.mark.promise(
    "identity, passwords: Addresses compare without case, trimmed, NFC, the domain as IDNA; mail goes to the stored one"
)
async def test_a_link_goes_to_the_stored_address_and_carries_no_stored_secret(
    database: WholeDatabase, mailer: MemoryMailer, clock: MovableClock, ada: User
) -> None:
    mail = await put_in(database)
    assert await relay_of(database, mailer, clock).deliver() == 1
    (sent,) = mailer.sent
    assert (sent.id, sent.to) == (mail.id, "Ada@Example.com")
    assert link_in(sent).startswith("https://app.example/reset#")
    said = said_by(link_in(sent))
    assert said == {"email": "Ada@Example.com", "token": SECRETS.code(mail.id)}
    async with database.read_only(EveryTenant()) as read:
        token = await read.one_time_tokens.living("reset", token_hash(said["token"]), NOW)
    assert token is not None
    assert (token.user_id, token.expires_at) == (ada.id, NOW + timedelta(minutes=60))
    assert await is_empty(database)


@pytest.mark.parametrize("kind", LINKS)
async def test_links_of_every_kind_are_of_the_page_and_the_lifetime_they_say(
    database: WholeDatabase, mailer: MemoryMailer, clock: MovableClock, ada: User, kind: MailKind
) -> None:
    mail = await put_in(database, kind)
    await relay_of(database, mailer, clock).deliver()
    purpose, lifetime = LINKS[kind].purpose, LINKS[kind].lifetime
    page = "https://app.example/reset" if purpose == "reset" else "https://app.example/confirm?lang=en"
    assert link_in(mailer.sent[0]).partition("#")[0] == page
    async with database.read_only(EveryTenant()) as read:
        digest = token_hash(SECRETS.code(mail.id))
        assert await read.one_time_tokens.living(purpose, digest, NOW + lifetime - timedelta(seconds=1))
        assert not await read.one_time_tokens.living(purpose, digest, NOW + lifetime)


@pytest.mark.parametrize("kind", [*LINKS, "password-changed", "new-device"])
@pytest.mark.parametrize(
    "languages",
    [
        (None, "", "Hello"),
        (None, "de", "Guten Tag"),
        ("de-CH", "en", "Guten Tag"),
        ("en-US", "de", "Hello"),
        ("fr-FR", "de", "Guten Tag"),
    ],
)
async def test_a_mail_speaks_the_readers_tenants_language_else_the_browsers(  # fixtures
    database: WholeDatabase,
    mailer: MemoryMailer,
    clock: MovableClock,
    ada: User,
    kind: MailKind,
    languages: tuple[str | None, str, str],
) -> None:
    setting, browser, greeting = languages
    if setting is not None:
        async with database.transaction(EveryTenant()) as tx:
            here = tenant(settings=TenantSettings(language=setting))
            await tx.tenants.add(here)
            await tx.memberships.save(ada.id, here.id, [], None, NOW)
    mail = Mail(id=new_id(), kind=kind, recipient=ada.email_key, name=ada.full_name, at=NOW, language=browser)
    async with database.transaction(EveryTenant()) as tx:
        await tx.outbox.add(mail)
    await relay_of(database, mailer, clock).deliver()
    assert mailer.sent[0].text.startswith(f"{greeting} Ada Byron,")


async def test_a_rolled_back_mail_is_not_sent(
    database: WholeDatabase, mailer: MemoryMailer, clock: MovableClock, ada: User
) -> None:
    async def fail() -> None:
        async with database.transaction(EveryTenant()) as tx:
            await tx.outbox.add(Mail(id=new_id(), kind="reset", recipient=ada.email_key, at=NOW))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert await relay_of(database, mailer, clock).deliver() == 0
    assert mailer.sent == []


async def test_many_relays_send_each_mail_once(
    database: WholeDatabase, mailer: MemoryMailer, clock: MovableClock, ada: User
) -> None:
    for number in range(60):
        await put_in(database, "password-changed", f"user{number}@example.com")
    relays = [relay_of(database, mailer, clock) for _ in range(4)]

    async def work(relay: OutboxRelay) -> None:
        while await relay.deliver():
            pass

    await asyncio.gather(*map(work, relays))
    assert sorted(mail.to for mail in mailer.sent) == sorted(f"user{number}@example.com" for number in range(60))
    assert await is_empty(database)


@dataclass
class DyingMailer:
    """A mailer that ends like a killed process, right after it has sent a message."""

    sent: list[Message] = field(default_factory=list)
    before_sending: bool = False

    async def send(self, message: Message) -> None:
        if not self.before_sending:
            self.sent.append(message)
        raise asyncio.CancelledError


@pytest.mark.promise(
    "identity, accounts and mail: Mail is part of the transaction: sent at least once, and never after a rollback"
)
@pytest.mark.parametrize("before_sending", [True, False])
async def test_who_dies_while_sending_loses_nothing(
    database: WholeDatabase, mailer: MemoryMailer, clock: MovableClock, ada: User, before_sending: bool
) -> None:
    await put_in(database)
    dying = DyingMailer(before_sending=before_sending)
    with pytest.raises(asyncio.CancelledError):
        await relay_of(database, dying, clock).deliver()
    alive = relay_of(database, mailer, clock)
    assert await alive.deliver() == 0
    clock.move(HELD)
    assert await alive.deliver() == 1
    assert {mail.id for mail in dying.sent} <= {mail.id for mail in mailer.sent}
    assert await is_empty(database)
    said = said_by(link_in(mailer.sent[0]))
    async with database.read_only(EveryTenant()) as read:
        assert await read.one_time_tokens.living("reset", token_hash(said["token"]), clock.now())


async def test_a_link_that_was_used_before_its_mail_is_sent_again_stays_used(
    database: WholeDatabase, mailer: MemoryMailer, clock: MovableClock, ada: User
) -> None:
    mail = await put_in(database)
    with pytest.raises(asyncio.CancelledError):
        await relay_of(database, DyingMailer(), clock).deliver()
    digest = token_hash(SECRETS.code(mail.id))
    async with database.autocommit(EveryTenant()) as tx:
        assert await tx.one_time_tokens.consume("reset", digest, NOW)
    clock.move(HELD)
    await relay_of(database, mailer, clock).deliver()
    assert mailer.sent == []
    assert await is_empty(database)
    async with database.read_only(EveryTenant()) as read:
        assert await read.one_time_tokens.living("reset", digest, NOW) is None


@pytest.mark.promise(
    "identity, accounts and mail: Mail is part of the transaction: sent at least once, and never after a rollback"
)
async def test_while_nothing_can_be_sent_pauses_grow_and_then_all_arrives(
    database: WholeDatabase, mailer: MemoryMailer, clock: MovableClock, ada: User
) -> None:
    await put_in(database)
    relay, mailer.closed = relay_of(database, mailer, clock), True
    for tries in range(1, 8):
        assert await relay.deliver() == 1
        clock.move(pause(tries) - timedelta(microseconds=1))
        assert await relay.deliver() == 0
        clock.move(timedelta(microseconds=1))
    mailer.closed = False
    assert await relay.deliver() == 1
    said = said_by(link_in(mailer.sent[0]))
    async with database.read_only(EveryTenant()) as read:
        assert await read.one_time_tokens.living("reset", token_hash(said["token"]), clock.now())


def test_pauses_grow_to_an_hour() -> None:
    pauses = [pause(tries) for tries in range(1, 50)]
    assert pauses[:3] == [timedelta(seconds=10), timedelta(seconds=30), timedelta(seconds=90)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == timedelta(hours=1)


async def test_the_log_names_a_mail_that_waits_and_until_when(
    database: WholeDatabase, clock: MovableClock, mailer: MemoryMailer, caplog: pytest.LogCaptureFixture
) -> None:
    mail = await put_in(database, "email-changed")
    mailer.closed = True
    await relay_of(database, mailer, clock).deliver()
    (record,) = caplog.records
    until = (NOW + pause(1)).isoformat(timespec="seconds")
    assert record.getMessage().startswith(f"Mail {mail.id} (email-changed) waits until {until}: ")


async def test_after_days_without_luck_a_mail_is_given_up(
    database: WholeDatabase, mailer: MemoryMailer, clock: MovableClock, ada: User
) -> None:
    await put_in(database)
    relay, mailer.closed = relay_of(database, mailer, clock), True
    clock.move(GIVEN_UP_AFTER)
    await relay.deliver()
    mailer.closed = False
    clock.move(timedelta(days=30))
    assert await relay.deliver() == 0


async def test_a_mail_that_is_tried_again_has_as_long_as_the_first_time(
    database: WholeDatabase, mailer: MemoryMailer, clock: MovableClock, ada: User
) -> None:
    await put_in(database)
    relay, mailer.closed = relay_of(database, mailer, clock), True
    clock.move(GIVEN_UP_AFTER)
    await relay.deliver()
    async with database.autocommit(EveryTenant()) as tx:
        (given_up,) = await tx.outbox.given_up(9)
        assert (given_up.at, given_up.why) == (clock.now(), "The mailer is closed.")
        assert await tx.outbox.try_again(given_up.mail.id, clock.now())
    clock.move(GIVEN_UP_AFTER - timedelta.resolution)
    assert await relay.deliver() == 1
    mailer.closed = False
    clock.move(timedelta(hours=1))
    assert await relay.deliver() == 1
    assert said_by(link_in(mailer.sent[0]))["email"] == ada.email


async def test_a_link_that_is_tried_again_never_ends_a_newer_one(
    database: WholeDatabase, mailer: MemoryMailer, clock: MovableClock, ada: User
) -> None:
    await put_in(database)
    relay, mailer.closed = relay_of(database, mailer, clock), True
    clock.move(GIVEN_UP_AFTER)
    await relay.deliver()
    mailer.closed = False
    await put_in(database)
    await relay.deliver()
    async with database.autocommit(EveryTenant()) as tx:
        (given_up,) = await tx.outbox.given_up(9)
        assert await tx.outbox.try_again(given_up.mail.id, clock.now())
    assert await relay.deliver() == 1
    assert len(mailer.sent) == 1


@dataclass
class Refusing:
    """A mailer that refuses the recipient eve for good, and fails on mallory."""

    mailer: MemoryMailer

    async def send(self, message: Message) -> None:
        if message.to.startswith("eve"):
            raise Undeliverable("550")
        if message.to.startswith("mallory"):
            raise ZeroDivisionError
        await self.mailer.send(message)


async def test_a_failing_mail_does_not_delay_other_mails(
    database: WholeDatabase, mailer: MemoryMailer, clock: MovableClock
) -> None:
    for name in ("eve", "mallory", "ada"):
        await put_in(database, "email-changed", f"{name}@example.com")
    assert await relay_of(database, Refusing(mailer), clock).deliver() == 3
    assert [mail.to for mail in mailer.sent] == ["ada@example.com"]
    clock.move(timedelta(days=1))
    await relay_of(database, mailer, clock).deliver()
    assert [mail.to for mail in mailer.sent] == ["ada@example.com", "mallory@example.com"]


async def test_an_address_that_the_account_left_gets_no_mail(
    database: WholeDatabase, mailer: MemoryMailer, clock: MovableClock, ada: User
) -> None:
    await put_in(database)
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.save(replace(ada, email="new@example.com", email_key="new@example.com"), ada)
    assert await relay_of(database, mailer, clock).deliver() == 1
    assert mailer.sent == []
    assert await is_empty(database)


async def test_a_mailer_that_is_away_says_so(mailer: MemoryMailer) -> None:
    mailer.closed = True
    with pytest.raises(MailServerUnavailable):
        await mailer.send(Message(id=new_id(), to="a@example.com", subject="", text="", html=""))
