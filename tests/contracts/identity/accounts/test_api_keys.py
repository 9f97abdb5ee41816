"""API keys: found by their digest with all that decides what they may do; an ended key never lives again."""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from adapters.postgres.database import PostgresDatabase
from application.ports.identity.service_accounts import KeyUse
from application.ports.whole_database import WholeDatabase
from domain.identity.service_accounts import ApiKey, KeyState, ServiceAccount, key_digest
from domain.scope import EveryTenant, OneTenant
from tests.builders import NOW, api_key, new_id, role, service_account, tenant

LATER = NOW + timedelta(hours=1)
MUCH_LATER = NOW + timedelta(days=30)
DIGEST = key_digest("tnt_secret")


async def open_account(database: WholeDatabase, **given: object) -> ServiceAccount:
    here = tenant()
    account = service_account(here.id, **given)
    async with database.transaction(EveryTenant()) as tx:
        await tx.tenants.add(here)
        for held in account.roles:
            await tx.roles.add(held)
        await tx.service_accounts.add(account)
    return account


async def add(database: WholeDatabase, key: ApiKey, digest: bytes = DIGEST) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.api_keys.add(key, digest)


async def state_of(database: WholeDatabase, digest: bytes = DIGEST) -> KeyState | None:
    async with database.read_only(EveryTenant()) as read:
        return await read.api_keys.state(digest)


async def test_a_key_is_found_by_its_digest_with_its_account_and_the_token_versions(database: WholeDatabase) -> None:
    held = role(None, name="Reader", permissions=("read:products",))
    account = await open_account(database, roles=(held,), description="x")
    key = api_key(
        account,
        permissions=("read:products",),
        networks=("10.0.0.0/8", "2001:db8::/32"),
        expires_at=MUCH_LATER,
    )
    await add(database, key)
    subjects = [f"user:{account.id}", f"role:{held.id}", f"tenant:{account.tenant_id}", "user:another"]
    async with database.transaction(EveryTenant()) as tx:
        await tx.token_versions.bump(subjects)
    assert await state_of(database) == KeyState(
        key=key, account=account, tenant_is_active=True, token_versions=dict.fromkeys(subjects[:3], 1)
    )
    assert await state_of(database, key_digest("tnt_other")) is None


async def test_the_state_of_a_key_shows_an_inactive_and_a_deleted_tenant(database: WholeDatabase) -> None:
    account = await open_account(database)
    await add(database, api_key(account))
    async with database.transaction(EveryTenant()) as tx:
        home = await tx.tenants.by_id(account.tenant_id)
        assert home is not None
        await tx.tenants.save(replace(home, is_active=False))
    closed = await state_of(database)
    async with database.transaction(EveryTenant()) as tx:
        await tx.tenants.save(home)
        await tx.tenants.remove(home.id, NOW)
    deleted = await state_of(database)
    assert [state is not None and state.tenant_is_active for state in (closed, deleted)] == [False, False]


async def test_living_keys_are_listed_the_oldest_first_to_their_own_tenant(database: WholeDatabase) -> None:
    account, other = await open_account(database), await open_account(database)
    second, first = api_key(account, created_at=LATER), api_key(account, networks=("192.0.2.1/32",))
    ended, expired, foreign = api_key(account), api_key(account, expires_at=NOW), api_key(other)
    for number, key in enumerate((second, first, ended, expired, foreign)):
        await add(database, key, key_digest(str(number)))
    async with database.transaction(EveryTenant()) as tx:
        assert await tx.api_keys.end(ended, NOW)
        assert await tx.api_keys.of_account(account.tenant_id, account.id, NOW) == [first, second]
        assert await tx.api_keys.of_account(other.tenant_id, account.id, NOW) == []
        assert await tx.api_keys.lock(account.tenant_id, account.id, NOW) == 2


@pytest.mark.promise("keys, revocation of keys: an end comes nearer and never goes back")
async def test_the_end_of_a_key_can_be_moved_only_to_an_earlier_time(database: WholeDatabase) -> None:
    account = await open_account(database)
    key = api_key(account, expires_at=MUCH_LATER)
    await add(database, key)
    tick = timedelta.resolution
    async with database.transaction(EveryTenant()) as tx:
        assert not await tx.api_keys.end(key, MUCH_LATER)
        assert await tx.api_keys.end(key, LATER)
        assert await tx.api_keys.of_account(account.tenant_id, account.id, LATER - tick) == [
            replace(key, ended_at=LATER)
        ]
        assert await tx.api_keys.of_account(account.tenant_id, account.id, LATER) == []
        assert not await tx.api_keys.end(key, MUCH_LATER)
        assert await tx.api_keys.end(key, NOW)
        assert not await tx.api_keys.end(key, LATER)
        assert not await tx.api_keys.end(api_key(account), NOW)
    found = await state_of(database)
    assert found is not None
    assert found.key.ended_at == NOW


@pytest.mark.promise(
    "keys, revocation of keys: the last use is an UPDATE of its own columns: it revives no key that ended meanwhile"
)
async def test_a_use_is_noted_and_an_older_one_replaces_nothing(database: WholeDatabase) -> None:
    account = await open_account(database)
    key, other = api_key(account), api_key(account)
    await add(database, key)
    await add(database, other, key_digest("other"))
    async with database.transaction(EveryTenant()) as tx:
        await tx.api_keys.end(key, LATER)
        await tx.api_keys.note_uses([KeyUse(key.id, LATER, "192.0.2.7"), KeyUse(new_id(), NOW, "")])
        await tx.api_keys.note_uses([KeyUse(key.id, NOW, "192.0.2.8")])
    found = await state_of(database)
    assert found is not None
    # Nothing else of the key is written: a key that was ended meanwhile stays ended.
    assert found.key == replace(key, ended_at=LATER, last_used_at=LATER, last_used_address="192.0.2.7")
    untouched = await state_of(database, key_digest("other"))
    assert untouched is not None
    assert untouched.key == other


async def test_keys_that_expire_soon_are_handed_out_once(database: WholeDatabase) -> None:
    account = await open_account(database)
    soon, sooner = api_key(account, expires_at=LATER), api_key(account, expires_at=LATER - timedelta(minutes=1))
    late, never, gone = (api_key(account, expires_at=at) for at in (MUCH_LATER, None, NOW))
    ended = api_key(account, expires_at=LATER)
    for number, key in enumerate((soon, sooner, late, never, gone, ended)):
        await add(database, key, key_digest(str(number)))
    async with database.transaction(EveryTenant()) as tx:
        await tx.api_keys.end(ended, NOW + timedelta(minutes=1))
        assert await tx.api_keys.take_expiring(NOW, LATER, 1) == [sooner]
        assert await tx.api_keys.take_expiring(NOW, LATER, 9) == [soon]
        assert await tx.api_keys.take_expiring(NOW, LATER, 9) == []


@pytest.mark.promise("keys, cost: Quotas of accounts and keys hold for requests at once")
async def test_keys_are_counted_under_a_lock(postgres: PostgresDatabase) -> None:
    account = await open_account(postgres)

    async def make(number: int) -> None:
        async with postgres.transaction(EveryTenant()) as tx:
            if await tx.api_keys.lock(account.tenant_id, account.id, NOW) < 2:
                await tx.api_keys.add(api_key(account), key_digest(str(number)))

    await asyncio.gather(*(make(number) for number in range(6)))
    async with postgres.transaction(EveryTenant()) as tx:
        assert len(await tx.api_keys.of_account(account.tenant_id, account.id, NOW)) == 2


@pytest.mark.promise(
    "keys, impersonation: a key of one tenant opens nothing of another, on every route of every entity, and its "
    "account does not exist there"
)
async def test_a_key_is_visible_only_in_the_scope_of_its_tenant(postgres: PostgresDatabase) -> None:
    account, other = await open_account(postgres), await open_account(postgres)
    await add(postgres, api_key(account))
    async with postgres.read_only(OneTenant(account.tenant_id)) as read:
        assert await read.api_keys.state(DIGEST) is not None
    async with postgres.read_only(OneTenant(other.tenant_id)) as read:
        assert await read.api_keys.state(DIGEST) is None
        assert await read.service_accounts.get(account.tenant_id, account.id, NOW) is None
