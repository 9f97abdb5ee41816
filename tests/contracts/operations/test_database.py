"""Database: a transaction is all or nothing, and invisible to others before the commit."""

import pytest

from application.ports.whole_database import WholeDatabase
from domain.errors import InternalError
from domain.scope import EveryTenant

SUBJECT = "user:ada"


async def count(database: WholeDatabase) -> int:
    async with database.read_only(EveryTenant()) as read:
        return (await read.token_versions.of([SUBJECT]))[SUBJECT]


async def test_it_is_ready(database: WholeDatabase) -> None:
    assert await database.is_ready()


async def test_leaving_a_transaction_commits_it(database: WholeDatabase) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.token_versions.bump([SUBJECT])
        assert await tx.token_versions.of([SUBJECT]) == {SUBJECT: 1}
        assert await count(database) == 0
    assert await count(database) == 1


async def test_an_exception_takes_all_of_it_back(database: WholeDatabase) -> None:
    async def raise_and_fail() -> None:
        async with database.transaction(EveryTenant()) as tx:
            await tx.token_versions.bump([SUBJECT])
            raise LookupError

    with pytest.raises(LookupError):
        await raise_and_fail()
    assert await count(database) == 0


async def test_without_a_transaction_each_statement_stands_alone(database: WholeDatabase) -> None:
    async def raise_and_fail() -> None:
        async with database.autocommit(EveryTenant()) as tx:
            await tx.token_versions.bump([SUBJECT])
            raise LookupError

    with pytest.raises(LookupError):
        await raise_and_fail()
    assert await count(database) == 1


async def test_a_write_on_a_read_only_connection_is_refused(database: WholeDatabase) -> None:
    with pytest.raises(InternalError):
        async with database.read_only(EveryTenant()) as read:
            await read.token_versions.bump([SUBJECT])
    assert await count(database) == 0


async def test_a_connection_that_was_read_only_writes_again(database: WholeDatabase) -> None:
    assert await count(database) == 0
    async with database.autocommit(EveryTenant()) as tx:
        await tx.token_versions.bump([SUBJECT])
    async with database.transaction(EveryTenant()) as tx:
        await tx.token_versions.bump([SUBJECT])
    assert await count(database) == 2
