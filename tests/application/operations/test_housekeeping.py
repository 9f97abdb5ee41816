"""Housekeeping: what it takes away is asked for by nobody, and what can be asked for stays."""

import asyncio
from datetime import timedelta

import pytest

from application.identity.login.forms import RefreshForm
from domain.entities.declaration import Registry
from domain.errors import TokenExpired, TokenInvalid
from domain.retention import LONGEST_TOKEN, Leftover
from domain.scope import EveryTenant
from entrypoints.server.housekeeping import clean, keep_clean
from entrypoints.settings.settings import SettingsError, read_settings
from tests.application.in_memory_service import HERE, Home, open_home

DAY = timedelta(days=1)


@pytest.fixture
async def home(registry: Registry) -> Home:
    return await open_home(registry)


async def no_pause(_: float) -> None:
    return None


async def swept(home: Home) -> dict[str, int]:
    gone = await clean(home.services.housekeeping, no_pause)
    assert gone is not None
    return dict(gone)


async def test_a_clean_house_stays_as_it_is(home: Home) -> None:
    await home.holder()
    await home.login()
    assert await swept(home) == {}


async def test_a_token_of_an_ended_session_is_refused_as_long_as_it_could_live(home: Home) -> None:
    await home.holder()
    caller = home.caller(await home.login())
    await home.services.own_sessions.end(caller, caller.session_id, HERE)
    subject = f"session:{caller.session_id}"
    for _ in range(2):
        assert Leftover.COUNTS.value not in await swept(home)
        assert not await home.is_alive(caller)
        home.clock.move(LONGEST_TOKEN)
    home.clock.move(timedelta.resolution)
    assert (await swept(home))[Leftover.COUNTS.value] == 1
    async with home.world.database.reading(EveryTenant()) as read:
        assert await read.counts.of([subject]) == {subject: 0}


async def test_the_counts_of_who_is_there_stay_however_old_they_are(home: Home) -> None:
    made = await home.holder()
    caller = home.caller(await home.login())
    await home.services.sign_in.logout(caller, HERE)
    home.clock.move(1_000 * DAY)
    await swept(home)
    assert not await home.is_alive(caller)
    async with home.world.database.reading(EveryTenant()) as read:
        assert await read.counts.of([f"user:{made.id}"]) == {f"user:{made.id}": 1}


async def test_the_counts_of_who_was_deleted_go_once_their_tokens_are_dead(home: Home) -> None:
    made = await home.holder()
    caller = home.caller(await home.login())
    await home.services.users.delete(await home.admin(), made.id, HERE)
    home.clock.move(LONGEST_TOKEN)
    await swept(home)
    assert not await home.is_alive(caller)
    home.clock.move(DAY)
    assert (await swept(home))[Leftover.COUNTS.value] == 2


async def test_an_expired_refresh_token_is_told_so_before_and_after(home: Home) -> None:
    await home.holder()
    form = RefreshForm(refresh_token=(await home.login()).refresh_token)
    for days in (8, 21, 1, 1_000):
        home.clock.move(days * DAY)
        await swept(home)
        with pytest.raises(TokenExpired, match="The session has expired: log in again"):
            await home.services.sign_in.refresh(form, HERE)


async def test_a_refresh_token_of_an_ended_session_is_dead_before_and_after(home: Home) -> None:
    await home.holder()
    result = await home.login()
    await home.services.sign_in.logout(home.caller(result), HERE)
    for gone in (0, 1):
        assert (await swept(home)).get(Leftover.ENDED_SESSIONS.value, 0) == gone
        with pytest.raises(TokenInvalid, match="The session has ended"):
            await home.services.sign_in.refresh(RefreshForm(refresh_token=result.refresh_token), HERE)
        home.clock.move(2 * DAY)


async def test_a_session_in_use_is_never_taken_away(home: Home) -> None:
    await home.holder()
    token = (await home.login()).refresh_token
    for _ in range(2):
        home.clock.move(timedelta(minutes=4))
        await swept(home)
        token = (await home.services.sign_in.refresh(RefreshForm(refresh_token=token), HERE)).refresh_token


async def test_in_the_background_it_comes_again_and_again_and_survives_a_failure(home: Home) -> None:
    await home.holder()
    await home.services.sign_in.logout(home.caller(await home.login()), HERE)
    home.clock.move(2 * DAY)
    pauses: list[float] = []
    database = home.world.database

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        database.down = len(pauses) == 1  # type: ignore[attr-defined]  # the one of memory
        if len(pauses) == 4:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await keep_clean(home.services.housekeeping, pause)
    assert [1_800 <= one <= 5_400 for one in pauses] == [True, True, False, True]
    assert await swept(home) == {}


def test_no_setting_lets_a_token_live_longer_than_counts_are_kept() -> None:
    longest = int(LONGEST_TOKEN.total_seconds()) // 60
    read_settings({"TENANTRY_ACCESS_TOKEN_MINUTES": str(longest)})
    for name in ("ACCESS_TOKEN_MINUTES", "GLOBAL_TOKEN_MINUTES"):
        with pytest.raises(SettingsError):
            read_settings({f"TENANTRY_{name}": str(longest + 1)})
