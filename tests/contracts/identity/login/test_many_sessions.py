"""Sessions of a user beside each other: how many there are, and logins from devices that none of them has."""

import asyncio
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from msgspec.structs import replace

from application.ports.database import Mail
from application.ports.whole_database import WholeDatabase
from domain.identity.logins import Login
from domain.identity.tokens import SESSIONS_AT_MOST
from domain.identity.users import User
from domain.lockout import NETWORK_FORGOTTEN, Lockout
from domain.scope import AuditEvent, EveryTenant
from tests.builders import LIFETIMES, NOW, new_id, session, user

HOME, AWAY = "192.0.2.1", "198.51.100.1"
LOCKOUT = Lockout(attempts=5, duration=timedelta(minutes=15))


@pytest.fixture
async def ada(database: WholeDatabase) -> User:
    ada = user(email="ada@example.com")
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
    return ada


async def log_in(
    database: WholeDatabase,
    ada: User,
    *,
    device: str = "a browser",
    network: str = HOME,
    at: datetime = NOW,
    social: bool = False,
) -> list[UUID]:
    """A login by password, whose network is known afterwards, or by a provider. Answers the sessions that ended."""
    async with database.autocommit(EveryTenant()) as tx:
        assert await tx.attempts.reserve(ada.email_key, network, LOCKOUT, at)
        state = await tx.users.state(ada.id)
        assert state is not None
        begun = session(ada.id, device=device, address=network, created_at=at, rotated_at=at)
        line = AuditEvent(actor_id=ada.id, action="login.succeeded", occurred_at=at)
        told = {"recipient": ada.email, "name": "Ada", "address": network, "at": at, "language": "de"}
        notice = Mail(id=new_id(), kind="new-device", **told)  # type: ignore[arg-type]
        login = Login(state=state, methods=(), by_password=not social, session=begun)
        ended = await tx.sessions.begin(login, line, forgiven=None if social else network, notice=notice)
    assert ended is not None
    return ended


async def told(database: WholeDatabase) -> list[str]:
    """Addresses in the mails of the outbox."""
    async with database.autocommit(EveryTenant()) as tx:
        due = await tx.outbox.take(50, NOW + timedelta(days=400), timedelta(days=400))
    assert {entry.mail.language for entry in due} <= {"de"}
    return [entry.mail.address for entry in due]


async def living(database: WholeDatabase, ada: User, at: datetime) -> list[datetime]:
    async with database.read_only(EveryTenant()) as read:
        return [found.created_at for found in await read.sessions.living(ada.id, at, LIFETIMES)]


@pytest.mark.promise(
    "security, rights: a user has at most 100 sessions: one more ends the one that was unused for longest, with its "
    "access token"
)
async def test_a_user_has_so_many_sessions_and_one_more_ends_the_one_unused_for_longest(
    database: WholeDatabase, ada: User
) -> None:
    bob = user(email="bob@example.com")
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(bob)
    await log_in(database, bob)
    times = [NOW + timedelta(seconds=number) for number in range(SESSIONS_AT_MOST)]
    for at in times:
        await log_in(database, ada, at=at)
    assert len(await living(database, ada, times[-1])) == SESSIONS_AT_MOST
    async with database.autocommit(EveryTenant()) as tx:
        first = next(
            found for found in await tx.sessions.living(ada.id, times[-1], LIFETIMES) if found.created_at == NOW
        )
        used = replace(first, counter=first.counter + 1, rotated_at=times[-1] + timedelta(seconds=1))
        assert await tx.sessions.rotate(used, seen=first.counter)
        unused = next(
            found for found in await tx.sessions.living(ada.id, times[-1], LIFETIMES) if found.created_at == times[1]
        )
    last = times[-1] + timedelta(seconds=2)
    assert await log_in(database, ada, at=last) == [unused.id]
    assert sorted(await living(database, ada, last)) == [NOW, *times[2:], last]
    assert await living(database, bob, last) == [NOW]


async def test_many_logins_at_once_leave_so_many_sessions_after_the_next(database: WholeDatabase, ada: User) -> None:
    for number in range(SESSIONS_AT_MOST):
        await log_in(database, ada, at=NOW + timedelta(seconds=number))
    later = NOW + timedelta(minutes=10)
    await asyncio.gather(*(log_in(database, ada, at=later) for _ in range(4)))
    await log_in(database, ada, at=later + timedelta(seconds=1))
    assert len(await living(database, ada, later)) == SESSIONS_AT_MOST


@pytest.mark.promise(
    "security, rights: the owner learns by mail of a login from a new device, of a linked and of an unlinked identity, "
    "and of changed roles"
)
async def test_a_login_with_a_new_device_and_a_new_network_is_notified(database: WholeDatabase, ada: User) -> None:
    await log_in(database, ada)
    assert await told(database) == [HOME]
    await log_in(database, ada, device="another browser")
    await log_in(database, ada, network=AWAY)
    assert await told(database) == []
    await log_in(database, ada, device="a telephone", network="203.0.113.7")
    assert await told(database) == ["203.0.113.7"]
    late = NOW + NETWORK_FORGOTTEN
    await log_in(database, ada, device="a third browser", at=late)
    assert await told(database) == [HOME]


@pytest.mark.promise(
    "security, rights: the owner learns by mail of a login from a new device, of a linked and of an unlinked identity, "
    "and of changed roles"
)
async def test_a_social_login_with_a_new_device_and_a_new_address_is_notified(
    database: WholeDatabase, ada: User
) -> None:
    await log_in(database, ada, social=True)
    assert await told(database) == [HOME]
    await log_in(database, ada, social=True, device="another browser")
    await log_in(database, ada, social=True, network=AWAY)
    assert await told(database) == []
    await log_in(database, ada, social=True, device="a telephone", network="203.0.113.7")
    assert await told(database) == ["203.0.113.7"]
