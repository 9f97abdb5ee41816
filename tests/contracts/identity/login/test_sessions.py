"""Sessions: of parallel rotations one succeeds, and none after the end.

Authentication by password, and its records.
"""

import asyncio
from datetime import timedelta

import msgspec
import pytest
from msgspec.structs import replace

from adapters.argon2 import Argon2Passwords, Cost
from adapters.joserfc import JoserfcEncryptedPasswords
from adapters.memory.clock import MovableClock
from application.identity.login.authentication import PasswordAuthentication
from application.identity.login.forms import LoginForm
from application.identity.passwords.encrypted_passwords import PasswordReader
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.entities.query.query import Path, Query, SortKey
from domain.errors import AccountLocked, InvalidCredentials, ValidationError
from domain.identity.logins import Login
from domain.identity.tokens import is_expired
from domain.identity.users import User
from domain.lockout import Lockout
from domain.scope import Client, EveryTenant
from tests.builders import LIFETIMES, NOW, new_id, session, tenant, user
from tests.contracts.identity.login.logins import begin

TRAIL = Query(sort=(SortKey(Path((), "occurred_at"), descending=True),), page_size=100)


@pytest.fixture
async def ada(database: WholeDatabase) -> User:
    ada = user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
    return ada


async def test_a_session_is_found_as_it_was_stored(database: WholeDatabase, ada: User) -> None:
    stored = session(ada.id, tenant_id=new_id(), app_id="shop", address="::1", device="a browser", counter=7)
    stored = replace(stored, methods=("pwd", "otp"), authenticated_at=NOW, is_first_login=True)
    async with database.transaction(EveryTenant()) as tx:
        assert await begin(tx, stored)
        assert await tx.sessions.by_id(stored.id) == stored
        assert await tx.sessions.by_id(new_id()) is None
        found = await tx.sessions.with_account_state(stored.id)
        assert found == (stored, await tx.users.state(ada.id))
        assert await tx.sessions.with_account_state(new_id()) is None


async def test_a_login_forgives_its_network_and_is_in_the_trail(
    database: WholeDatabase, registry: Registry, ada: User
) -> None:
    own, lockout = session(ada.id, tenant_id=new_id()), Lockout(attempts=1, duration=timedelta(minutes=15))
    async with database.autocommit(EveryTenant()) as tx:
        for network in ("192.0.2.1", "192.0.2.2"):
            assert await tx.attempts.reserve(ada.email_key, network, lockout, NOW)
        assert await begin(tx, own, forgiven="192.0.2.1")
        assert await tx.sessions.by_id(own.id) == own
        state = await tx.users.state(ada.id)
        assert state is not None
        assert state.user.last_login_at == NOW
        assert await tx.attempts.reserve(ada.email_key, "192.0.2.1", lockout, NOW)
        assert not await tx.attempts.reserve(ada.email_key, "192.0.2.2", lockout, NOW)
        events = await tx.records.page(registry["audit-events"], TRAIL)
    (line,) = [line for line in msgspec.json.decode(events.items) if line["actorId"] == str(ada.id)]
    assert (line["action"], line["tenantId"]) == ("login.succeeded", str(own.tenant_id))


async def test_a_login_after_a_changed_password_stores_nothing(
    database: WholeDatabase, registry: Registry, ada: User
) -> None:
    lockout = Lockout(attempts=1, duration=timedelta(minutes=15))
    late = session(ada.id)
    async with database.autocommit(EveryTenant()) as tx:
        assert await tx.attempts.reserve(ada.email_key, "192.0.2.1", lockout, NOW)
        state = await tx.users.state(ada.id)
        assert state is not None
        await tx.users.save(replace(ada, password_set_at=NOW + timedelta(1)), ada)
        assert not await begin(tx, late, Login(state=state, methods=(), by_password=True), "192.0.2.1")
        assert await tx.sessions.by_id(late.id) is None
        assert not await tx.attempts.reserve(ada.email_key, "192.0.2.1", lockout, NOW)
        events = await tx.records.page(registry["audit-events"], TRAIL)
    assert [line for line in msgspec.json.decode(events.items) if line["actorId"] == str(ada.id)] == []


@pytest.mark.promise(
    "security, rights: a login in flight while the account is disabled leaves no session, by password or socially"
)
@pytest.mark.parametrize("by_password", [True, False])
async def test_a_login_of_an_account_that_was_disabled_meanwhile_stores_nothing(
    database: WholeDatabase, ada: User, by_password: bool
) -> None:
    late = session(ada.id)
    async with database.autocommit(EveryTenant()) as tx:
        state = await tx.users.state(ada.id)
        assert state is not None
        disabled = replace(ada, is_active=False)
        await tx.users.save(disabled, ada)
        assert not await begin(tx, late, Login(state=state, methods=(), by_password=by_password))
        # A session would live again with the account.
        await tx.users.save(ada, disabled)
        assert await tx.sessions.by_id(late.id) is None


@pytest.mark.promise("identity, refresh tokens and sessions: one row, a sealed counter, compare-and-swap")
async def test_of_fifty_rotations_at_once_one_succeeds(database: WholeDatabase, ada: User) -> None:
    stored = session(ada.id)
    later = NOW + timedelta(minutes=5)
    proof = {"methods": ("pwd", "otp"), "authenticated_at": later}
    rotated = replace(stored, counter=1, tenant_id=new_id(), rotated_at=later, **proof)
    async with database.transaction(EveryTenant()) as tx:
        assert await begin(tx, stored)

    async def rotate() -> bool:
        async with database.transaction(EveryTenant()) as tx:
            return await tx.sessions.rotate(rotated, seen=0)

    assert sum(await asyncio.gather(*(rotate() for _ in range(50)))) == 1
    async with database.read_only(EveryTenant()) as read:
        assert await read.sessions.by_id(stored.id) == rotated


async def test_an_ended_session_stays_ended(database: WholeDatabase, ada: User) -> None:
    stored = session(ada.id)
    async with database.transaction(EveryTenant()) as tx:
        assert await begin(tx, stored)
        assert await tx.sessions.end(stored.id, NOW)
        assert not await tx.sessions.end(stored.id, NOW + timedelta(1))
        assert not await tx.sessions.end(new_id(), NOW)
        assert not await tx.sessions.rotate(replace(stored, counter=1), seen=0)
        assert await tx.sessions.by_id(stored.id) == replace(stored, ended_at=NOW)


async def test_living_sessions_come_last_used_first(database: WholeDatabase, ada: User) -> None:
    old, new, ended = session(ada.id), session(ada.id, rotated_at=NOW + timedelta(1)), session(ada.id)
    other = user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(other)
        for new_session in (old, new, ended, session(other.id)):
            assert await begin(tx, new_session)
        await tx.sessions.end(ended.id, NOW)
        assert await tx.sessions.living(ada.id, NOW, LIFETIMES) == [new, old]
        await tx.users.end_sessions(ada.id, NOW)
        assert await tx.sessions.living(ada.id, NOW, LIFETIMES) == []
        assert len(await tx.sessions.living(other.id, NOW, LIFETIMES)) == 1


async def test_the_end_of_a_member_s_sessions_is_stored_with_the_membership(database: WholeDatabase, ada: User) -> None:
    here, there = tenant(), tenant()
    async with database.transaction(EveryTenant()) as tx:
        for joined in (here, there):
            await tx.tenants.add(joined)
            await tx.memberships.save(ada.id, joined.id, [], None, NOW)
        await tx.sessions.keep_out(ada.id, here.id, NOW)
        await tx.sessions.keep_out(ada.id, new_id(), NOW)
    async with database.transaction(EveryTenant()) as tx:
        # other roles are no new proof
        await tx.memberships.save(ada.id, here.id, [], True, NOW + timedelta(1))
        state = await tx.users.state(ada.id)
        assert state is not None
        ends = {held.tenant_id: held.sessions_ended_at for held in state.memberships}
    assert ends == {here.id: NOW, there.id: None}


async def test_expired_sessions_are_not_among_the_living(database: WholeDatabase, ada: User) -> None:
    begun = timedelta(days=30) - timedelta.resolution
    chosen = {"tenant_id": new_id(), "rotated_at": NOW}
    stored = [
        session(ada.id, created_at=NOW - begun, **chosen),
        session(ada.id, created_at=NOW - timedelta(days=30), **chosen),
        session(ada.id, tenant_id=new_id(), created_at=NOW - timedelta(days=8), rotated_at=NOW - timedelta(days=7)),
        session(ada.id, created_at=NOW - timedelta(minutes=10), rotated_at=NOW),
        session(ada.id, created_at=NOW - timedelta(minutes=9), rotated_at=NOW - timedelta(minutes=9)),
    ]
    async with database.transaction(EveryTenant()) as tx:
        for new_session in stored:
            assert await begin(tx, new_session)
        living = await tx.sessions.living(ada.id, NOW, LIFETIMES)
    assert living == [stored[0], stored[4]]
    assert living == [row for row in stored if not is_expired(row, NOW, LIFETIMES)]


HERE = Client(address="192.0.2.1", network="192.0.2.1")
CHEAP, DEAR = Cost(memory_kib=8, passes=1), Cost(memory_kib=16, passes=1)
EMAIL, PASSWORD = "ada@example.com", "ﬁrst password ½"


@pytest.fixture
def passwords() -> Argon2Passwords:
    return Argon2Passwords(DEAR, cores=1)


@pytest.fixture
def authentication(database: WholeDatabase, passwords: Argon2Passwords, clock: MovableClock) -> PasswordAuthentication:
    reader = PasswordReader(database, JoserfcEncryptedPasswords("a secret"), clock, strict=False)
    return PasswordAuthentication(database, passwords, reader, clock, Lockout(3, timedelta(minutes=15)))


def form(email: str, password: str) -> LoginForm:
    return LoginForm(email=email, password=password, is_password_encrypted=False)


async def keep(database: WholeDatabase, password_hash: str | None) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(user(email=EMAIL, password_hash=password_hash))


async def test_who_knows_the_password_is_proven_and_its_hash_stays(
    authentication: PasswordAuthentication, database: WholeDatabase, passwords: Argon2Passwords
) -> None:
    await keep(database, await passwords.hash("first password 1⁄2"))
    for typed in (PASSWORD, "first password ½"):
        login = await authentication.by_password(form(" ADA@Example.com", typed), HERE)
        assert login.state.user.email == EMAIL
        assert login.by_password
        assert login.renewed is None


@pytest.mark.promise("identity, passwords: Argon2id at OWASP's cost, and a weaker hash renewed")
async def test_a_weaker_hash_is_renewed(
    authentication: PasswordAuthentication, database: WholeDatabase, passwords: Argon2Passwords
) -> None:
    weaker = await Argon2Passwords(CHEAP, cores=1).hash("a password")
    await keep(database, weaker)
    login = await authentication.by_password(form(EMAIL, "a password"), HERE)
    assert login.renewed is not None
    assert login.renewed.seen == weaker
    assert not passwords.is_outdated(login.renewed.hash)
    assert await passwords.verify("a password", login.renewed.hash)


@pytest.mark.parametrize("email", [EMAIL, "nobody@example.com", "no address"])
async def test_unknown_addresses_and_wrong_passwords_are_refused_and_locked_alike(
    authentication: PasswordAuthentication, database: WholeDatabase, email: str
) -> None:
    await keep(database, None)
    for _ in range(3):
        with pytest.raises(InvalidCredentials):
            await authentication.by_password(form(email, "wrong"), HERE)
    with pytest.raises(AccountLocked):
        await authentication.by_password(form(email, "wrong"), HERE)


async def test_ones_own_password_is_verified_and_guesses_of_it_lock_as_at_login(
    authentication: PasswordAuthentication, database: WholeDatabase, passwords: Argon2Passwords
) -> None:
    await keep(database, await passwords.hash("first password 1⁄2"))
    ada = (await authentication.by_password(form(EMAIL, PASSWORD), HERE)).state.user
    async with database.autocommit(EveryTenant()) as tx:
        await tx.attempts.forgive(ada.email_key, HERE.network, NOW)
    await authentication.ensure_own(ada, PASSWORD, False, HERE)
    for _ in range(2):
        with pytest.raises(ValidationError):
            await authentication.ensure_own(ada, "wrong", False, HERE)
    with pytest.raises(AccountLocked):
        await authentication.ensure_own(ada, PASSWORD, False, HERE)


async def test_an_account_without_a_password_has_none_to_show(authentication: PasswordAuthentication) -> None:
    with pytest.raises(ValidationError):
        await authentication.ensure_own(user(), "", False, HERE)
