"""Signing keys: processes that start together agree on the first one."""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from application.ports.whole_database import WholeDatabase
from domain.identity.signing_keys import PURPOSES, SigningKey
from domain.scope import EveryTenant
from tests.builders import NOW


def key(kid: str, days: int = 0) -> SigningKey:
    return SigningKey(kid=kid, public=f"public {kid}", sealed=f"sealed {kid}", active_from=NOW + timedelta(days))


async def test_keys_come_the_oldest_first(database: WholeDatabase) -> None:
    async with database.transaction(EveryTenant()) as tx:
        for new_key in (key("b", 1), key("a", 2), key("c", 0)):
            await tx.keys.add(new_key)
        assert await tx.keys.all() == [key("c", 0), key("b", 1), key("a", 2)]
        assert not await tx.keys.add_first(key("d"))


async def test_each_purpose_has_a_first_key_of_its_own(database: WholeDatabase) -> None:
    keys = [replace(key(purpose), purpose=purpose) for purpose in PURPOSES]
    async with database.transaction(EveryTenant()) as tx:
        assert [await tx.keys.add_first(stored_key) for stored_key in keys] == [True] * len(PURPOSES)
        assert not await tx.keys.add_first(replace(keys[-1], kid="another"))
        assert sorted(await tx.keys.all(), key=lambda stored: PURPOSES.index(stored.purpose)) == keys


async def test_a_key_that_is_sealed_anew_stays_what_it_was(database: WholeDatabase) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.keys.add(key("a"))
        await tx.keys.add(key("b", 1))
        await tx.keys.reseal(replace(key("a"), sealed="sealed anew", public="forged"))
        assert await tx.keys.all() == [replace(key("a"), sealed="sealed anew"), key("b", 1)]


@pytest.mark.promise("identity, tokens and keys: Keys are sealed, shared, made once")
async def test_of_many_that_make_the_first_key_one_does(database: WholeDatabase) -> None:
    async def add_first(n: int) -> bool:
        async with database.transaction(EveryTenant()) as tx:
            return await tx.keys.add_first(key(str(n)))

    assert sum(await asyncio.gather(*(add_first(n) for n in range(20)))) == 1
    async with database.read_only(EveryTenant()) as read:
        assert len(await read.keys.all()) == 1
