"""Second factors, recovery codes and handles: what is used once is used once, whoever else tries at the same time."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from adapters.joserfc import SealedFactorSecrets
from application.ports.identity.factors import Credential, Factor, FactorSecrets
from application.ports.whole_database import WholeDatabase
from domain.errors import Conflict
from domain.identity.users import OwnFactors, TenantSecurity, TenantSettings, User
from domain.scope import EveryTenant
from tests.builders import NOW, new_id, tenant, user


@pytest.fixture
async def ada(database: WholeDatabase) -> User:
    ada = user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
    return ada


def app_of(ada: User, **given: Any) -> Factor:
    values: dict[str, Any] = {"id": new_id(), "user_id": ada.id, "kind": "totp", "name": "Phone", "created_at": NOW}
    return Factor(**{**values, "sealed": "sealed", "last_step": 7, **given})


def passkey_of(ada: User, credential_id: bytes = b"id", **given: object) -> Factor:
    credential = Credential(
        id=credential_id,
        public_key=b"\x00key",
        counter=0,
        transports=("internal", "hybrid"),
        aaguid=UUID(int=5),
        backup_eligible=True,
        backed_up=False,
        uv_initialized=True,
    )
    return app_of(ada, kind="passkey", sealed=None, last_step=0, credential=credential, **given)


async def test_factors_are_found_as_they_were_stored_the_oldest_first(database: WholeDatabase, ada: User) -> None:
    app, key = app_of(ada, created_at=NOW + timedelta(1)), passkey_of(ada)
    other = user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(other)
        for factor in (app, key, app_of(other)):
            await tx.factors.add(factor)
        assert await tx.factors.of(ada.id) == [key, app]
        assert await tx.factors.by_credential(b"id") == key
        assert await tx.factors.by_credential(b"another") is None
        assert await tx.factors.of(new_id()) == []


@pytest.mark.promise("second factors, attacks: a credential registered for two accounts")
async def test_a_credential_belongs_to_one_user(database: WholeDatabase, ada: User) -> None:
    other = user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(other)
        await tx.factors.add(passkey_of(ada))
    with pytest.raises(Conflict) as refusal:
        async with database.transaction(EveryTenant()) as tx:
            await tx.factors.add(passkey_of(other))
    assert [error.field for error in refusal.value.fields] == ["response"]


async def test_only_factors_of_the_user_can_be_renamed_and_removed(database: WholeDatabase, ada: User) -> None:
    app, key = app_of(ada), passkey_of(ada)
    async with database.transaction(EveryTenant()) as tx:
        for factor in (app, key):
            await tx.factors.add(factor)
        assert await tx.factors.rename(ada.id, app.id, "Tablet")
        assert not await tx.factors.rename(new_id(), app.id, "Mine")
        assert await tx.factors.remove(new_id(), app.id) == 0
        assert await tx.factors.of(ada.id) == [replace(app, name="Tablet"), key]
        assert await tx.factors.remove(ada.id, app.id) == 1
        assert await tx.factors.remove(ada.id, app.id) == 0
        await tx.factors.add(app)
        assert await tx.factors.remove(ada.id, None) == 2
        assert await tx.factors.of(ada.id) == []


@pytest.mark.promise(
    "second factors, attacks: CVE-2025-6014, CVE-2025-55003, CVE-2026-33473: a code that serves twice, also at the "
    "same moment"
)
async def test_of_twenty_uses_of_a_step_at_once_one_succeeds(database: WholeDatabase, ada: User) -> None:
    app = app_of(ada)
    async with database.transaction(EveryTenant()) as tx:
        await tx.factors.add(app)

    async def use(step: int) -> bool:
        async with database.transaction(EveryTenant()) as tx:
            return await tx.factors.use_step(app.id, step, "anew", NOW)

    assert sum(await asyncio.gather(*(use(8) for _ in range(20)))) == 1
    assert [await use(step) for step in (7, 8, 9)] == [False, False, True]
    async with database.read_only(EveryTenant()) as read:
        assert await read.factors.of(ada.id) == [replace(app, last_step=9, sealed="anew", last_used_at=NOW)]


async def test_a_credential_is_used_from_the_counter_that_was_seen(database: WholeDatabase, ada: User) -> None:
    key = passkey_of(ada)
    assert key.credential is not None
    later = replace(key.credential, counter=2**32 - 1, backed_up=True)
    async with database.transaction(EveryTenant()) as tx:
        await tx.factors.add(key)
        assert not await tx.factors.use_credential(key.id, 1, later, NOW)
        assert await tx.factors.use_credential(key.id, 0, later, NOW)
        assert not await tx.factors.use_credential(key.id, 0, later, NOW)
        assert await tx.factors.of(ada.id) == [replace(key, credential=later, last_used_at=NOW)]


@pytest.mark.promise("second factors, attacks: idenplane#398: recovery codes that race, or can be guessed")
async def test_a_recovery_code_serves_once_and_new_ones_replace_it(database: WholeDatabase, ada: User) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.recovery_codes.replace(ada.id, [b"first", b"second"])

    async def use(digest: bytes) -> bool:
        async with database.transaction(EveryTenant()) as tx:
            return await tx.recovery_codes.use(ada.id, digest, NOW)

    assert sum(await asyncio.gather(*(use(b"first") for _ in range(20)))) == 1
    assert not await use(b"unknown")
    async with database.transaction(EveryTenant()) as tx:
        assert not await tx.recovery_codes.use(new_id(), b"second", NOW)
        assert await tx.recovery_codes.left(ada.id) == 1
        await tx.recovery_codes.replace(ada.id, [b"third"])
        assert not await tx.recovery_codes.use(ada.id, b"second", NOW)
        await tx.recovery_codes.replace(ada.id, [])
        assert await tx.recovery_codes.left(ada.id) == 0


async def test_the_first_passkey_handle_of_a_user_is_permanent(database: WholeDatabase, ada: User) -> None:
    async with database.transaction(EveryTenant()) as tx:
        assert await tx.passkey_handles.of(ada.id, b"\x00first") == b"\x00first"
        assert await tx.passkey_handles.of(ada.id, b"second") == b"\x00first"


async def test_ending_passkey_logins_affects_only_the_passkeys_of_one_user(database: WholeDatabase, ada: User) -> None:
    async def verified() -> list[bool | None]:
        async with database.read_only(EveryTenant()) as read:
            factors = await read.factors.of(ada.id)
        return [factor.credential.uv_initialized if factor.credential else None for factor in factors]

    async with database.transaction(EveryTenant()) as tx:
        await tx.factors.add(app_of(ada))
        await tx.factors.add(passkey_of(ada))
        assert await tx.credentials.end_passkey_logins(new_id(), None) == 0
        assert await tx.credentials.end_passkey_logins(ada.id, NOW) == 0
    assert sorted(await verified(), key=repr) == [None, True]
    async with database.transaction(EveryTenant()) as tx:
        assert await tx.credentials.end_passkey_logins(ada.id, NOW + timedelta.resolution) == 1
        assert await tx.credentials.end_passkey_logins(ada.id, None) == 0
    assert sorted(await verified(), key=repr) == [False, None]


async def test_the_account_state_contains_the_kinds_of_factors(database: WholeDatabase, ada: User) -> None:
    async def own() -> OwnFactors:
        async with database.read_only(EveryTenant()) as read:
            state = await read.users.state(ada.id)
        assert state is not None
        return state.factors

    assert await own() == OwnFactors()
    async with database.transaction(EveryTenant()) as tx:
        await tx.factors.add(app_of(ada))
        await tx.recovery_codes.replace(ada.id, [b"only"])
    assert await own() == OwnFactors(totp=True, recovery=True)
    async with database.transaction(EveryTenant()) as tx:
        await tx.factors.add(passkey_of(ada))
        await tx.recovery_codes.use(ada.id, b"only", NOW)
    assert await own() == OwnFactors(totp=True, passkey=True)


async def test_memberships_and_visits_contain_the_security_settings_of_the_tenant(
    database: WholeDatabase, ada: User
) -> None:
    asked = TenantSecurity(
        require_mfa=True, mfa_methods=("passkey",), mfa_grace_days=3, idle_days=1, required_since=NOW
    )
    strict, plain = tenant(settings=TenantSettings(security=asked)), tenant()
    async with database.transaction(EveryTenant()) as tx:
        for place in (strict, plain):
            await tx.tenants.add(place)
            await tx.memberships.save(ada.id, place.id, [], None, NOW)
        state = await tx.users.state(ada.id)
        assert state is not None
        assert {held.tenant_id: held.security for held in state.memberships} == {strict.id: asked, plain.id: None}
        visits = [await tx.memberships.visit(place.id, NOW) for place in (strict, plain)]
        assert [visit and visit.security for visit in visits] == [asked, None]


async def test_a_removed_account_leaves_no_factor(database: WholeDatabase, ada: User) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.factors.add(passkey_of(ada))
        await tx.recovery_codes.replace(ada.id, [b"only"])
        await tx.users.remove(ada.id)
        assert await tx.factors.of(ada.id) == []
        assert await tx.factors.by_credential(b"id") is None
        assert await tx.recovery_codes.left(ada.id) == 0


def test_a_factor_secret_opens_only_for_its_user_and_with_its_key() -> None:
    secrets: FactorSecrets = SealedFactorSecrets("a secret key of more than 32 characters")
    ada = new_id()
    sealed = secrets.seal(ada, b"\x00 twenty bytes of it")
    assert secrets.open(ada, sealed) == b"\x00 twenty bytes of it"
    assert secrets.open(new_id(), sealed) is None
    assert SealedFactorSecrets("another secret key of 32 characters").open(ada, sealed) is None
    assert secrets.open(ada, "no seal") is None
    changed = SealedFactorSecrets("another secret key of 32 characters", "a secret key of more than 32 characters")
    assert changed.open(ada, sealed) == b"\x00 twenty bytes of it"
    assert secrets.open(ada, changed.seal(ada, b"new")) is None
