"""Token versions in the database: each bump raises them by one."""

import asyncio

from application.ports.whole_database import WholeDatabase
from domain.scope import EveryTenant, OneTenant
from tests.builders import NOW, new_id


async def test_what_was_never_bumped_has_the_version_0(database: WholeDatabase) -> None:
    async with database.transaction(EveryTenant()) as tx:
        assert await tx.token_versions.bump(["b", "a", "b"]) == {"a": 1, "b": 1}
        assert await tx.token_versions.bump(["a"]) == {"a": 2}
    async with database.read_only(OneTenant(new_id())) as read:
        assert await read.token_versions.of(["a", "b", "c"]) == {"a": 2, "b": 1, "c": 0}
        assert await read.token_versions.of([]) == {}


async def test_what_has_ended_still_counts(database: WholeDatabase) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.token_versions.bump(["a"])
        await tx.token_versions.end(["a", "b"], NOW)
        assert await tx.token_versions.of(["a", "b"]) == {"a": 1, "b": 0}
        assert await tx.token_versions.bump(["a"]) == {"a": 2}


async def test_bumps_at_once_all_count_whatever_their_order(database: WholeDatabase) -> None:
    async def bump(subjects: list[str]) -> None:
        async with database.transaction(EveryTenant()) as tx:
            await tx.token_versions.bump(subjects)

    await asyncio.gather(*(bump(["a", "b", "c"][:: (-1) ** n]) for n in range(20)))
    async with database.read_only(EveryTenant()) as read:
        assert await read.token_versions.of(["a", "b", "c"]) == {"a": 20, "b": 20, "c": 20}


async def test_a_raise_that_is_rolled_back_did_not_happen(database: WholeDatabase) -> None:
    try:
        async with database.transaction(EveryTenant()) as tx:
            await tx.token_versions.bump(["a"])
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    async with database.read_only(EveryTenant()) as read:
        assert await read.token_versions.of(["a"]) == {"a": 0}
