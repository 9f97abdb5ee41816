"""Housekeeping removes only data that no rule of the service can ask for."""

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from adapters.memory.database import MemoryDatabase
from application.identity.login.forms import RefreshForm
from application.identity.service_accounts.forms import ServiceAccountForm
from application.operations.housekeeping import AT_ONCE
from application.ports.entities.records import Act, NewRow
from domain.entities.declaration import Registry
from domain.errors import TokenExpired, TokenInvalid
from domain.parts.composition import RETENTION
from domain.parts.login import ENDED_SESSIONS, LONGEST_TOKEN, TOKEN_VERSIONS, USED_NONCES
from domain.retention import DatedRecords
from domain.scope import EveryTenant, OneTenant, Scope
from entrypoints.server.housekeeping import RETENTION_SETTINGS, clean, keep_clean
from entrypoints.settings.settings import SettingsError, read_settings
from tests.application.in_memory_service import HERE, InMemoryService, open_service
from tests.builders import new_id

DAY = timedelta(days=1)


@pytest.fixture
async def service(registry: Registry) -> InMemoryService:
    return await open_service(registry)


async def no_pause(_: float) -> None:
    return None


async def swept(service: InMemoryService) -> dict[str, int]:
    gone = await clean(service.services.housekeeping, no_pause)
    assert gone is not None
    return dict(gone)


async def test_a_clean_house_stays_as_it_is(service: InMemoryService) -> None:
    await service.holder()
    await service.login()
    assert await swept(service) == {}


class CountedDatabase:
    """The database of a service in memory, with the number of transactions that were asked for."""

    def __init__(self, database: Any) -> None:
        self.database = database
        self.begun = 0

    def transaction(self, scope: Scope) -> AbstractAsyncContextManager[Any]:
        self.begun += 1
        opened: AbstractAsyncContextManager[Any] = self.database.transaction(scope)
        return opened


async def test_much_of_one_kind_asks_for_the_others_at_the_beginning_and_the_end(service: InMemoryService) -> None:
    now, rounds = service.clock.now(), 4
    async with service.adapters.database.transaction(EveryTenant()) as tx:
        for number in range(rounds * AT_ONCE):
            assert await tx.used_nonces.consume(str(number), now, now)
    service.clock.move(2 * DAY)
    counted: Any = CountedDatabase(service.adapters.database)
    gone = await clean(replace(service.services.housekeeping, database=counted), no_pause)
    assert gone == {USED_NONCES.name: rounds * AT_ONCE}
    assert counted.begun <= 2 * len(RETENTION) + rounds


async def test_a_token_of_an_ended_session_is_refused_as_long_as_it_could_live(service: InMemoryService) -> None:
    await service.holder()
    caller = service.caller(await service.login())
    await service.services.my_sessions.end(caller, caller.session_id, HERE)
    subject = f"session:{caller.session_id}"
    for _ in range(2):
        assert TOKEN_VERSIONS.name not in await swept(service)
        assert not await service.is_alive(caller)
        service.clock.move(LONGEST_TOKEN)
    service.clock.move(timedelta.resolution)
    assert (await swept(service))[TOKEN_VERSIONS.name] == 1
    async with service.adapters.database.read_only(EveryTenant()) as read:
        assert await read.token_versions.of([subject]) == {subject: 0}


async def test_versions_of_existing_users_stay_however_old_they_are(service: InMemoryService) -> None:
    made = await service.holder()
    caller = service.caller(await service.login())
    await service.services.sign_out.logout(caller, HERE)
    service.clock.move(1_000 * DAY)
    await swept(service)
    assert not await service.is_alive(caller)
    async with service.adapters.database.read_only(EveryTenant()) as read:
        # raised by the proof of the address and by the logout
        assert await read.token_versions.of([f"user:{made.id}"]) == {f"user:{made.id}": 2}


async def test_versions_of_deleted_users_are_removed_once_their_tokens_have_expired(service: InMemoryService) -> None:
    made = await service.holder()
    caller = service.caller(await service.login())
    await service.services.users.delete(await service.admin(), made.id, HERE)
    service.clock.move(LONGEST_TOKEN)
    await swept(service)
    assert not await service.is_alive(caller)
    service.clock.move(DAY)
    assert (await swept(service))[TOKEN_VERSIONS.name] == 2


async def test_token_versions_of_deleted_users_are_removed(service: InMemoryService) -> None:
    await service.holder()
    caller = service.caller(await service.login())
    await service.services.account_deletion.delete(caller, HERE)
    service.clock.move(LONGEST_TOKEN)
    await swept(service)
    service.clock.move(DAY)
    assert (await swept(service))[TOKEN_VERSIONS.name] == 2


async def test_versions_of_deleted_service_accounts_are_removed_too(service: InMemoryService) -> None:
    root, accounts = await service.admin(), service.services.service_accounts
    made = await accounts.create(root, ServiceAccountForm(name="Robot", roles=[]), HERE)
    await accounts.delete(root, made.id, HERE)
    service.clock.move(LONGEST_TOKEN)
    assert TOKEN_VERSIONS.name not in await swept(service)
    service.clock.move(DAY)
    assert (await swept(service))[TOKEN_VERSIONS.name] == 2


async def test_an_expired_refresh_token_is_reported_as_expired_before_and_after_cleaning(
    service: InMemoryService,
) -> None:
    await service.holder()
    form = RefreshForm(refresh_token=(await service.login()).refresh_token)
    for days in (8, 21, 1, 1_000):
        service.clock.move(days * DAY)
        await swept(service)
        with pytest.raises(TokenExpired, match="The session has expired: log in again"):
            await service.services.renewal.refresh(form, HERE)


async def test_a_refresh_token_of_an_ended_session_is_dead_before_and_after(service: InMemoryService) -> None:
    await service.holder()
    result = await service.login()
    await service.services.sign_out.logout(service.caller(result), HERE)
    for gone in (0, 1):
        assert (await swept(service)).get(ENDED_SESSIONS.name, 0) == gone
        with pytest.raises(TokenInvalid, match="The session has ended"):
            await service.services.renewal.refresh(RefreshForm(refresh_token=result.refresh_token), HERE)
        service.clock.move(2 * DAY)


async def test_a_session_in_use_is_never_taken_away(service: InMemoryService) -> None:
    await service.holder()
    token = (await service.login()).refresh_token
    for _ in range(2):
        service.clock.move(timedelta(minutes=4))
        await swept(service)
        token = (await service.services.renewal.refresh(RefreshForm(refresh_token=token), HERE)).refresh_token


async def test_background_cleaning_repeats_and_continues_after_a_failure(service: InMemoryService) -> None:
    await service.holder()
    await service.services.sign_out.logout(service.caller(await service.login()), HERE)
    service.clock.move(2 * DAY)
    pauses: list[float] = []
    database = service.adapters.database
    assert isinstance(database, MemoryDatabase)

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        database.down = len(pauses) == 1
        if len(pauses) == 4:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await keep_clean(service.services.housekeeping, service.services.job_results, pause)
    assert [1_800 <= seconds <= 5_400 for seconds in pauses] == [True, True, False, True]
    assert await swept(service) == {}


def test_no_setting_allows_tokens_that_outlive_stored_counts() -> None:
    longest = int(LONGEST_TOKEN.total_seconds()) // 60
    read_settings({"TENANTRY_ACCESS_TOKEN_MINUTES": str(longest)})
    for name in ("ACCESS_TOKEN_MINUTES", "GLOBAL_TOKEN_MINUTES"):
        with pytest.raises(SettingsError):
            read_settings({f"TENANTRY_{name}": str(longest + 1)})


@pytest.mark.parametrize(
    ("records", "setting"), [each for each in RETENTION_SETTINGS.items() if each[0] is not DatedRecords.CHANGES]
)
async def test_old_records_go_where_a_retention_is_set_and_only_those_that_it_names(
    registry: Registry, records: DatedRecords, setting: str
) -> None:
    service = await open_service(registry, {setting: "30"})
    housekeeping = service.services.housekeeping
    await write(service, registry)
    assert await housekeeping.forget(records, service.clock.now()) == 0
    service.clock.move(31 * DAY)
    await write(service, registry)
    assert [
        await housekeeping.forget(other, service.clock.now()) for other in DatedRecords if other is not records
    ] == [0, 0]
    before = await housekeeping.forget(records, service.clock.now())
    assert before is not None
    assert before > 0
    assert await housekeeping.forget(records, service.clock.now()) == 0


@pytest.mark.promise(
    "security, audit trail: Events are deleted past a retention that the operator sets, by the owner of the trail alone"
)
async def test_records_without_a_retention_are_never_deleted(service: InMemoryService, registry: Registry) -> None:
    await write(service, registry)
    service.clock.move(10_000 * DAY)
    now, housekeeping = service.clock.now(), service.services.housekeeping
    assert [await housekeeping.forget(records, now) for records in DatedRecords] == [0, 0, 0]


async def test_cleaning_reports_the_number_of_deleted_history_entries(registry: Registry) -> None:
    service = await open_service(registry, {"TENANTRY_HISTORY_RETENTION_DAYS": "1"})
    await write(service, registry)
    service.clock.move(1 * DAY)
    assert (await swept(service))[DatedRecords.HISTORIES.value] == 1


async def write(service: InMemoryService, registry: Registry) -> None:
    """An event of the audit trail, and a row of an entity with a history."""
    admin = await service.admin()
    categories = registry["categories"]
    values = {field.name: None if field.nullable else f"{new_id()}" for field in categories.declared}
    scope = OneTenant(new_id())
    async with service.adapters.database.transaction(scope) as tx:
        act = Act(by=admin.user_id, at=service.clock.now())
        await tx.records.add(categories, [NewRow(new_id(), values)], act)


async def test_a_cleaning_ends_while_rows_fall_due_all_the_time(service: InMemoryService) -> None:
    now, second, rounds = service.clock.now(), timedelta(seconds=1), 0
    async with service.adapters.database.transaction(EveryTenant()) as tx:
        for number in range(20):
            await tx.used_nonces.consume(f"n{number}", now - DAY + number * second, now - 2 * DAY)

    async def later(_: float) -> None:
        nonlocal rounds
        rounds += 1
        service.clock.move(second)

    await clean(service.services.housekeeping, later)
    assert rounds == 1
