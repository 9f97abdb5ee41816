"""The baseline's files: export by COPY, import by COPY to a temporary table."""

import asyncio
import csv
import io
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import asyncpg
from litestar import Request, get, post
from litestar.datastructures import UploadFile
from litestar.exceptions import ClientException
from litestar.params import MultipartBody
from litestar.response import Stream
from msgspec import Meta, Struct, ValidationError, convert
from uuid_utils.compat import uuid7

from benchmarks.baseline_tokens import Claims, caller

Call = Request[Any, Any, Any]

TEXTS = ("name", "sku", "description", "status")
EXPORTED = {
    "id": "id",
    "name": "name",
    "sku": "sku",
    "description": "description",
    "price": "price",
    "stock": "stock",
    "status": "status",
    "category_id": "categoryId",
    "released_at": "releasedAt",
    "photo_id": "photoId",
    "created_at": "createdAt",
    "updated_at": "updatedAt",
    "created_by": "createdBy",
    "updated_by": "updatedBy",
    "is_deleted": "isDeleted",
    "deleted_at": "deletedAt",
    "deleted_by": "deletedBy",
    "version": "version",
}
TIMES = ("released_at", "created_at", "updated_at", "deleted_at")
IMPORTED = ("name", "sku", "description", "price", "stock", "status", "category_id", "released_at")


def _exported(column: str) -> str:
    """A cell with times as in JSON; text that a spreadsheet would run gets an apostrophe."""
    shown = column
    if column in TEXTS:
        shown = rf"CASE WHEN {column} < 'A' AND {column} ~ '^''*[-=+@\t\r\n]' THEN '''' || {column} ELSE {column} END"
    elif column in TIMES:
        shown = f"""to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""
    # Every such text sorts before "A".
    return f'{shown} AS "{EXPORTED[column]}"'


EXPORT = f"""
SELECT {", ".join(map(_exported, EXPORTED))} FROM products
WHERE tenant_id = $1 AND NOT is_deleted ORDER BY created_at DESC, id DESC"""


@get("/api/products/export")
async def export_products(request: Call) -> Stream:
    pieces = _pieces(request.app.state.pool, caller(request).tenant_id)
    headers = {"Content-Disposition": f'attachment; filename="products-{datetime.now(UTC):%Y-%m-%d}.csv"'}
    return Stream(pieces, media_type="text/csv", headers=headers)


async def _pieces(pool: asyncpg.Pool, tenant_id: UUID) -> AsyncIterator[bytes]:
    """Pieces through a short queue: the database waits for a client that reads slowly."""
    queue: asyncio.Queue[bytes | Exception | None] = asyncio.Queue(4)

    async def keep(piece: bytes) -> None:
        await queue.put(bytes(piece))  # what comes is a bytearray

    async def copy() -> None:
        try:
            async with pool.acquire() as connection:
                await connection.copy_from_query(EXPORT, tenant_id, output=keep, format="csv", header=True)
        except asyncpg.PostgresError as error:
            await queue.put(error)
        await queue.put(None)

    copying = asyncio.create_task(copy())
    try:
        while (piece := await queue.get()) is not None:
            if isinstance(piece, Exception):
                raise piece
            yield piece
    finally:
        copying.cancel()


class Row(Struct, rename="camel"):
    name: Annotated[str, Meta(min_length=1, max_length=200)]
    sku: Annotated[str, Meta(pattern="^[A-Z0-9-]{3,32}$")]
    price: Decimal
    description: Annotated[str, Meta(max_length=10_000)] | None = None
    stock: Annotated[int, Meta(ge=0)] = 0
    status: Literal["draft", "live", "retired"] = "draft"
    category_id: UUID | None = None
    released_at: Annotated[datetime, Meta(tz=True)] | None = None


class Upload(Struct):
    file: UploadFile


class RowError(Struct):
    row: int
    message: str


class Read(Struct):
    records: list[tuple[Any, ...]]
    errors: list[RowError]


COLUMNS = ("tenant_id", "id", *IMPORTED, "created_at", "updated_at", "created_by", "updated_by", "version")
MERGE = f"""
INSERT INTO products ({", ".join(COLUMNS)}) SELECT {", ".join(COLUMNS)} FROM incoming
ON CONFLICT (tenant_id, sku) WHERE NOT is_deleted DO NOTHING"""


@post("/api/products/import", status_code=200)
async def import_products(request: Call, data: MultipartBody[Upload]) -> dict[str, Any]:
    who, content = caller(request), await data.file.read()
    read = await asyncio.to_thread(_read, content, who)
    async with request.app.state.pool.acquire() as connection, connection.transaction():
        await connection.execute("CREATE TEMP TABLE incoming (LIKE products INCLUDING DEFAULTS) ON COMMIT DROP")
        await connection.copy_records_to_table("incoming", records=read.records, columns=COLUMNS)
        try:
            imported = int((await connection.execute(MERGE)).split()[-1])
        except asyncpg.ForeignKeyViolationError as error:
            raise ClientException("There is no such category.") from error
    skipped = len(read.records) - imported
    return {"success": True, "data": {"imported": imported, "skipped": skipped, "errors": read.errors}}


def _read(content: bytes, who: Claims) -> Read:
    read, now = Read([], []), datetime.now(UTC)
    for number, cells in _rows(content):
        try:
            row = convert(cells, Row, strict=False)
        except ValidationError as error:
            read.errors.append(RowError(number, str(error)))
            continue
        values = (row.name, row.sku, row.description, row.price, row.stock, row.status, row.category_id)
        read.records.append((who.tenant_id, uuid7(), *values, row.released_at, now, now, who.sub, who.sub, 1))
    return read


def _rows(content: bytes) -> Iterator[tuple[int, dict[str, str | None]]]:
    for number, cells in enumerate(csv.DictReader(io.StringIO(content.decode())), start=2):
        yield number, {name: cell or None for name, cell in cells.items()}
