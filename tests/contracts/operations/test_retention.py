"""Retention: data is removed by its age, exact to the microsecond, in portions, and nothing else is."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import pytest

from adapters.postgres.database import PostgresDatabase
from adapters.postgres.operations.retention import statement_of
from application.ports.database import Mail
from application.ports.entities.idempotency import Claim
from application.ports.identity.accounts import EmailChange, OneTimeToken
from application.ports.identity.invitations import NewInvitation
from application.ports.identity.users import AddressMark
from application.ports.whole_database import Transaction, WholeDatabase
from domain.identity.domains import JoinRequest
from domain.identity.invitations import Invitation
from domain.identity.service_accounts import key_digest
from domain.lockout import FAILURES_FORGOTTEN, Lockout
from domain.parts import account, entities, joining, login, operations, service_accounts, webhooks
from domain.parts.composition import RETENTION
from domain.retention import RetentionRule
from domain.scope import AuditEvent, EveryTenant, OneTenant
from tests.builders import LIFETIMES, NOW, api_key, new_id, service_account, session, tenant, user
from tests.contracts.identity.login.logins import begin
from tests.contracts.operations.stored_deliveries import store_delivery
from tests.waiting import HUNG_AFTER

TICK = timedelta.resolution
LONG_AGO = NOW - timedelta(days=500)
LOCKOUT = Lockout(attempts=3, duration=timedelta(minutes=15))
HOME = "192.0.2.1"

Make = Callable[[Transaction, datetime], Awaitable[None]]
"""Stores a row of a kind with the given time."""


async def end_session(tx: Transaction, at: datetime) -> None:
    owner = user()
    ended = session(owner.id, created_at=NOW)
    await tx.users.add(owner)
    assert await begin(tx, ended)
    await tx.sessions.end(ended.id, at)


async def begin_session(tx: Transaction, at: datetime) -> None:
    owner = user()
    await tx.users.add(owner)
    assert await begin(tx, session(owner.id, created_at=at))


async def fail(tx: Transaction, at: datetime) -> None:
    """A failed login from a network; it counts for the network and over all of them."""
    assert await tx.attempts.reserve(f"{new_id()}@example.com", HOME, LOCKOUT, at)


async def succeed(tx: Transaction, at: datetime) -> None:
    key = f"{new_id()}@example.com"
    assert await tx.attempts.reserve(key, HOME, LOCKOUT, at)
    await tx.attempts.forgive(key, HOME, at)


async def end_count(tx: Transaction, at: datetime) -> None:
    await tx.token_versions.bump([subject := f"session:{new_id()}"])
    await tx.token_versions.end([subject], at)
    await tx.token_versions.bump([f"session:{new_id()}"], ended_at=at)


async def consume(tx: Transaction, at: datetime) -> None:
    assert await tx.used_nonces.consume(str(new_id()), at, at - timedelta(minutes=2))


async def issue(tx: Transaction, at: datetime) -> None:
    owner = user()
    await tx.users.add(owner)
    token = OneTimeToken(
        user_id=owner.id,
        email_key=owner.email_key,
        purpose="reset",
        number=7,
        hash=str(owner.id),
        issued_at=at - timedelta(minutes=60),
        expires_at=at,
    )
    assert await tx.one_time_tokens.issue(token)


async def answer(tx: Transaction, at: datetime) -> None:
    claim = Claim(tenant_id=new_id(), user_id=new_id(), key="k", fingerprint="f")
    assert await tx.answers.claim(claim, at) is None
    await tx.answers.keep(claim, b"first", at)


async def give_up(tx: Transaction, at: datetime) -> None:
    mail = Mail(id=new_id(), kind="reset", recipient="ada@example.com", at=NOW)
    await tx.outbox.add(mail)
    await tx.outbox.give_up(mail.id, at, "")


async def end_key(tx: Transaction, at: datetime) -> None:
    """A key that was ended, of an account that lives on."""
    account = service_account((home := tenant()).id)
    key = api_key(account, expires_at=at + timedelta(days=999))
    await tx.tenants.add(home)
    await tx.service_accounts.add(account)
    await tx.api_keys.add(key, key_digest(str(key.id)))
    assert await tx.api_keys.end(key, at)


async def invite(tx: Transaction, at: datetime) -> None:
    """An invitation that ended at the time."""
    owner, invitation_id = tenant(), new_id()
    await tx.tenants.add(owner)
    new = Invitation(
        tenant_id=owner.id,
        id=invitation_id,
        email="ada@example.com",
        email_key="ada@example.com",
        role_ids=(),
        invited_by=new_id(),
        created_at=at,
        expires_at=NOW + timedelta(days=7),
        hash=str(invitation_id),
    )
    line = AuditEvent(actor_id=None, action="invitation.sent", occurred_at=at)
    assert await tx.invitations.add([NewInvitation(invitation=new, mail=None, line=line)]) == 1
    assert await tx.invitations.end(owner.id, invitation_id, "declined", at, None)


async def ask_for_address(tx: Transaction, at: datetime) -> None:
    """A change of an address whose link expired at the time."""
    owner = user()
    await tx.users.add(owner)
    change = EmailChange(
        user_id=owner.id,
        email="new@example.com",
        email_key="new@example.com",
        hash=str(owner.id),
        requested_at=at - timedelta(hours=24),
        expires_at=at,
    )
    await tx.email_changes.save(change)


async def ask_to_join(tx: Transaction, at: datetime) -> None:
    """A request that was declined at the time."""
    home, asker = tenant(), user()
    await tx.tenants.add(home)
    await tx.users.add(asker)
    made = JoinRequest(tenant_id=home.id, user_id=asker.id, domain="acme.example", created_at=LONG_AGO)
    assert await tx.join_requests.add(made)
    assert await tx.join_requests.end(home.id, asker.id, "declined", at, None)


async def leave(tx: Transaction, at: datetime) -> None:
    """A membership that ended at the time."""
    home = tenant()
    await tx.tenants.add(home)
    await tx.former_members.mark([AddressMark(home.id, home.id.bytes * 2)], at)


KINDS: dict[RetentionRule, tuple[Make, int]] = {
    login.ENDED_SESSIONS: (end_session, 1),
    login.OLD_SESSIONS: (begin_session, 1),
    login.FAILURES: (fail, 2),
    login.NETWORKS: (succeed, 1),
    login.TOKEN_VERSIONS: (end_count, 2),
    login.USED_NONCES: (consume, 1),
    account.LINKS: (issue, 1),
    joining.INVITATIONS: (invite, 1),
    joining.JOIN_REQUESTS: (ask_to_join, 1),
    joining.FORMER_ADDRESSES: (leave, 1),
    account.EMAIL_CHANGES: (ask_for_address, 1),
    entities.ANSWERS: (answer, 1),
    service_accounts.API_KEYS: (end_key, 1),
    webhooks.DELIVERIES: (store_delivery, 1),
    operations.MAILS: (give_up, 1),
}
"""For each rule, how a row is made and how many rows it comes to."""


async def remove(database: WholeDatabase, what: RetentionRule, before: datetime = NOW, most: int = 100) -> int:
    async with database.transaction(EveryTenant()) as tx:
        assert await tx.retention.claim()
        return await tx.retention.remove(what, before, most)


@pytest.mark.parametrize("what", RETENTION, ids=lambda rule: rule.name)
async def test_old_rows_go_some_at_a_time_and_younger_stay(database: WholeDatabase, what: RetentionRule) -> None:
    make, rows = KINDS[what]
    async with database.transaction(EveryTenant()) as tx:
        for at in (NOW - timedelta(days=1), NOW - TICK, NOW, NOW + TICK):
            await make(tx, at)
    assert await remove(database, what, NOW - timedelta(days=1) - TICK) == 0
    assert await remove(database, what, most=2 * rows) == 2 * rows
    assert await remove(database, what) == rows
    assert await remove(database, what) == 0
    assert await remove(database, what, NOW + TICK) == rows


@pytest.mark.parametrize("what", RETENTION, ids=lambda rule: rule.name)
async def test_a_retention_rule_removes_only_records_of_its_kind(database: WholeDatabase, what: RetentionRule) -> None:
    """The exception is an old session that has ended, which both rules on sessions remove."""
    alike = {login.ENDED_SESSIONS, login.OLD_SESSIONS}
    others = {kind: example for kind, example in KINDS.items() if kind is not what and not {kind, what} <= alike}
    async with database.transaction(EveryTenant()) as tx:
        for kind, (make, _) in others.items():
            if {kind, what} != {login.NETWORKS, login.FAILURES}:
                await make(tx, LONG_AGO)
    assert await remove(database, what) == 0


async def test_a_living_session_is_never_removed(database: WholeDatabase) -> None:
    owner = user()
    begun, ended = session(owner.id), session(owner.id)
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(owner)
        for new_session in (begun, ended):
            assert await begin(tx, new_session)
        await tx.sessions.end(ended.id, NOW)
    assert await remove(database, login.ENDED_SESSIONS) == 1
    assert await remove(database, login.OLD_SESSIONS, NOW - TICK) == 0
    async with database.read_only(EveryTenant()) as read:
        assert await read.sessions.by_id(ended.id) is None
        assert await read.sessions.living(owner.id, NOW, LIFETIMES) == [begun]


async def test_an_active_lock_retains_its_failures(database: WholeDatabase) -> None:
    long = Lockout(attempts=1, duration=timedelta(days=60))
    async with database.transaction(EveryTenant()) as tx:
        assert await tx.attempts.reserve("ada@example.com", HOME, long, NOW)
    assert await remove(database, login.FAILURES, NOW + timedelta(days=59)) == 1  # those over all networks
    async with database.read_only(EveryTenant()) as read:
        assert await read.attempts.locked_until("ada@example.com", NOW) == NOW + long.duration
    assert await remove(database, login.FAILURES, NOW + long.duration) == 1


async def test_a_known_network_is_retained_longer_than_failures(database: WholeDatabase) -> None:
    key = "ada@example.com"
    async with database.transaction(EveryTenant()) as tx:
        before = NOW - FAILURES_FORGOTTEN
        assert await tx.attempts.reserve(key, HOME, LOCKOUT, before)
        await tx.attempts.forgive(key, HOME, before)
    await remove(database, login.FAILURES)
    async with database.autocommit(EveryTenant()) as tx:
        for number in range(LOCKOUT.attempts_over_all):
            assert await tx.attempts.reserve(key, f"203.0.113.{number}", LOCKOUT, NOW)
        assert not await tx.attempts.reserve(key, "203.0.113.99", LOCKOUT, NOW)
        assert await tx.attempts.reserve(key, HOME, LOCKOUT, NOW)


async def test_a_count_that_can_still_be_named_stays(database: WholeDatabase) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.token_versions.bump(["user:a", "session:b"])
        await tx.token_versions.end(["session:b", "role:never-raised"], LONG_AGO)
    assert await remove(database, login.TOKEN_VERSIONS, NOW + timedelta(days=9_999)) == 1
    async with database.read_only(EveryTenant()) as read:
        assert await read.token_versions.of(["user:a", "session:b"]) == {"user:a": 1, "session:b": 0}


async def test_a_link_stays_known_while_an_older_mail_could_bring_an_older_one(database: WholeDatabase) -> None:
    mail = Mail(id=new_id(), kind="reset", recipient="ada@example.com", at=LONG_AGO)
    async with database.transaction(EveryTenant()) as tx:
        await tx.outbox.add(mail)
        (due,) = await tx.outbox.take(1, NOW, timedelta(minutes=2))
        for number in (due.number - 1, due.number, due.number + 1):
            owner = user()
            await tx.users.add(owner)
            ended = OneTimeToken(
                user_id=owner.id,
                email_key=owner.email_key,
                purpose="reset",
                number=number,
                hash=str(number),
                issued_at=LONG_AGO - timedelta(minutes=60),
                expires_at=LONG_AGO,
            )
            assert await tx.one_time_tokens.issue(ended)
    assert await remove(database, account.LINKS) == 1
    async with database.transaction(EveryTenant()) as tx:
        await tx.outbox.done(mail.id)
    assert await remove(database, account.LINKS) == 2


async def test_a_mail_that_waits_is_never_taken_away(database: WholeDatabase) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.outbox.add(Mail(id=new_id(), kind="reset", recipient="ada@example.com", at=LONG_AGO))
    assert await remove(database, operations.MAILS) == 0
    async with database.autocommit(EveryTenant()) as tx:
        assert len(await tx.outbox.take(1, NOW, timedelta(minutes=2))) == 1


@pytest.mark.promise("keys, revocation of keys: Ended keys are removed after 90 days, living ones never")
async def test_an_expired_key_is_removed_and_a_living_one_stays(database: WholeDatabase) -> None:
    home = tenant()
    account = service_account(home.id)
    expired, living = api_key(account, expires_at=NOW), api_key(account)
    async with database.transaction(EveryTenant()) as tx:
        await tx.tenants.add(home)
        await tx.service_accounts.add(account)
        for key in (expired, living):
            await tx.api_keys.add(key, key_digest(str(key.id)))
    assert await remove(database, service_accounts.API_KEYS, NOW - TICK) == 0
    assert await remove(database, service_accounts.API_KEYS) == 1
    async with database.read_only(EveryTenant()) as read:
        assert await read.api_keys.of_account(home.id, account.id, LONG_AGO) == [living]


async def test_answers_of_all_tenants_go(database: WholeDatabase) -> None:
    for tenant_id in (new_id(), new_id()):
        async with database.transaction(OneTenant(tenant_id)) as tx:
            claim = Claim(tenant_id=tenant_id, user_id=new_id(), key="k", fingerprint="f")
            assert await tx.answers.claim(claim, LONG_AGO) is None
            await tx.answers.keep(claim, b"first", LONG_AGO)
    assert await remove(database, entities.ANSWERS) == 2


async def test_one_process_removes_at_a_time(postgres: PostgresDatabase) -> None:
    async with postgres.transaction(EveryTenant()) as first, postgres.transaction(EveryTenant()) as second:
        assert await first.retention.claim()
        assert not await second.retention.claim()
    async with postgres.transaction(EveryTenant()) as third:
        assert await third.retention.claim()


async def test_locked_rows_are_left_for_the_next_time(postgres: PostgresDatabase) -> None:
    key = "ada@example.com"
    async with postgres.transaction(EveryTenant()) as tx:
        assert await tx.attempts.reserve(key, HOME, LOCKOUT, LONG_AGO)
    async with postgres.transaction(EveryTenant()) as trying:
        assert await trying.attempts.reserve(key, HOME, LOCKOUT, NOW)
        async with asyncio.timeout(HUNG_AFTER):
            assert await remove(postgres, login.FAILURES, NOW - TICK) == 0
    assert await remove(postgres, login.FAILURES, NOW - TICK) == 0
    assert await remove(postgres, login.FAILURES) == 2


@pytest.mark.parametrize("what", RETENTION, ids=lambda rule: rule.name)
async def test_an_index_finds_what_is_old(postgres: PostgresDatabase, what: RetentionRule) -> None:
    """None of the statements scans a large table sequentially."""
    statement = statement_of(what)
    async with postgres.transaction(EveryTenant()) as tx:
        await tx.connection.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
        rows = await tx.connection.fetch(
            f"EXPLAIN {statement.text}", *statement.arguments({"before": NOW, "most": 500})
        )
    plan = "\n".join(row[0] for row in rows)
    assert "Index Scan using ix_" in plan
    assert "Seq Scan" not in plan
    assert "Sort" not in plan
