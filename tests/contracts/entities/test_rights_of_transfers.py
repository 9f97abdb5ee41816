"""Rights during a transfer: an import asks again before it commits, and an export now and then."""

import tempfile
from collections.abc import AsyncGenerator
from contextlib import suppress
from datetime import timedelta

import pytest
from msgspec.structs import replace

from adapters.memory.clock import CountingIds, MovableClock
from adapters.memory.database import MemoryDatabase
from adapters.memory.upkeep import MemoryUpkeep
from adapters.sheets.processes import ProcessSheets
from application.entities.transfers.exports import ASKED_AGAIN, while_alive
from application.entities.transfers.imports import FileImport
from application.entities.writing import Write
from application.ports.whole_database import WholeDatabase
from domain.entities.bodies import EVERY_FIELD
from domain.entities.declaration import Registry
from domain.entities.query.query import Count, Query
from domain.entities.sheets import ImportOptions
from domain.errors import TokenExpired, TokenInvalid
from domain.scope import Caller, OneTenant, grants_subject, user_subject
from tests.builders import NOW, caller, new_id

HERE = OneTenant(new_id())
ADA = new_id()
END = NOW.replace(microsecond=0) + timedelta(minutes=60)
CALLER = caller(
    user_id=ADA,
    tenant_id=HERE.id,
    permissions=("*",),
    issued={user_subject(ADA): 0, grants_subject(ADA): 0},
    expires_at=int(END.timestamp()),
)
FILE = b"name,sku,price\r\nKettle,KETTLE,1\r\n"


async def imported(database: WholeDatabase, registry: Registry, caller: Caller, clock: MovableClock) -> int:
    """Imports a row, and returns how many there are afterwards."""
    importing = FileImport(
        database, registry, clock, ProcessSheets(), MemoryUpkeep(MemoryDatabase(registry, CountingIds()))
    )
    with tempfile.TemporaryFile() as upload:
        upload.write(FILE)
        await importing.import_(
            Write(caller=caller, scope=HERE), registry["products"], upload, ImportOptions(), EVERY_FIELD
        )
    return await stored(database, registry)


async def stored(database: WholeDatabase, registry: Registry) -> int:
    async with database.read_only(HERE) as read:
        page = await read.records.page(registry["products"], Query(sort=(), count=Count.EXACT))
    assert page.total is not None
    return page.total


async def bump(database: WholeDatabase, subject: str) -> None:
    async with database.transaction(HERE) as tx:
        await tx.token_versions.bump([subject])


async def test_an_import_of_one_who_may_is_stored(database: WholeDatabase, registry: Registry) -> None:
    living = MovableClock(END - timedelta(milliseconds=1))
    assert await imported(database, registry, CALLER, living) == 1


@pytest.mark.promise(
    "security, rights: Rights and expiry are judged again inside the transaction of an import, just before its commit"
)
@pytest.mark.parametrize(("subject", "error"), [(user_subject(ADA), TokenInvalid), (grants_subject(ADA), TokenExpired)])
async def test_an_import_of_one_who_was_stopped_meanwhile_stores_nothing(
    database: WholeDatabase, registry: Registry, subject: str, error: type[Exception]
) -> None:
    await bump(database, subject)
    with pytest.raises(error):
        await imported(database, registry, CALLER, MovableClock(END - timedelta(milliseconds=1)))
    assert await stored(database, registry) == 0


@pytest.mark.promise(
    "security, rights: Rights and expiry are judged again inside the transaction of an import, just before its commit"
)
async def test_an_import_whose_token_expired_meanwhile_stores_nothing(
    database: WholeDatabase, registry: Registry
) -> None:
    with pytest.raises(TokenExpired):
        await imported(database, registry, CALLER, MovableClock(END))
    assert await stored(database, registry) == 0
    operator = replace(CALLER, issued={}, expires_at=0)
    assert await imported(database, registry, operator, MovableClock(END)) == 1


class Rights:
    """Rights that end after so many questions."""

    def __init__(self, lasts: int) -> None:
        self.left = lasts

    async def ensure_alive(self, caller: Caller) -> None:
        assert caller is CALLER
        self.left -= 1
        if self.left < 0:
            raise TokenInvalid


@pytest.mark.promise(
    "security, rights: an export is broken off within ten seconds once its caller was logged out or lost rights"
)
async def test_a_file_breaks_off_for_one_who_was_stopped_meanwhile() -> None:
    clock, closed, sent = MovableClock(NOW), [], []

    async def rows() -> AsyncGenerator[bytes, None]:
        try:
            for number in range(100):
                clock.move(ASKED_AGAIN / 5)
                yield b"%d" % number
        finally:
            closed.append(True)

    pieces = while_alive(CALLER, rows(), Rights(lasts=2).ensure_alive, clock)
    while not closed:
        with suppress(TokenInvalid):
            sent.append(await anext(pieces))
    assert (len(sent), closed) == (14, [True])


async def test_a_short_file_asks_nobody() -> None:
    async def rows() -> AsyncGenerator[bytes, None]:
        yield b"row"

    assert [piece async for piece in while_alive(CALLER, rows(), Rights(lasts=0).ensure_alive, MovableClock(NOW))] == [
        b"row"
    ]
