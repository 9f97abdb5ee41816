"""The baseline: Litestar, asyncpg and msgspec by hand, for one table, with a token check and a tenant filter.

No limits, revocation, registry or generality: what plain code costs that does the same for its caller.
"""

import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import asyncpg
from litestar import Litestar, Request, Response, delete, get, post, put
from litestar.exceptions import ClientException, NotFoundException
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from msgspec import Meta, Struct, json
from uuid_utils.compat import uuid7

from benchmarks.baseline_files import export_products, import_products
from benchmarks.baseline_tokens import caller, login

Call = Request[Any, Any, Any]

COLUMNS = (
    "id, name, sku, description, price, stock, status, category_id, released_at, photo_id, "
    "created_at, updated_at, created_by, updated_by, is_deleted, deleted_at, deleted_by, version"
)
CATEGORY_COLUMNS = (
    "id, name, description, created_at, updated_at, created_by, updated_by, is_deleted, deleted_at, deleted_by, version"
)


class ProductForm(Struct, rename="camel", forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=200)]
    sku: Annotated[str, Meta(pattern="^[A-Z0-9-]{3,32}$")]
    price: Decimal
    description: Annotated[str, Meta(max_length=10_000)] | None = None
    stock: Annotated[int, Meta(ge=0)] = 0
    status: Literal["draft", "live", "retired"] = "draft"
    category_id: UUID | None = None
    released_at: Annotated[datetime, Meta(tz=True)] | None = None


class ProductChanges(Struct, rename="camel", forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    description: Annotated[str, Meta(max_length=10_000)] | None = None
    price: Decimal | None = None
    stock: Annotated[int, Meta(ge=0)] | None = None
    status: Literal["draft", "live", "retired"] | None = None


class BatchForm(Struct, forbid_unknown_fields=True):
    items: Annotated[list[ProductForm], Meta(min_length=1, max_length=1_000)]


class Category(Struct, rename="camel", gc=False):
    id: UUID
    name: str
    description: str | None
    created_at: datetime
    updated_at: datetime
    created_by: UUID | None
    updated_by: UUID | None
    is_deleted: bool
    deleted_at: datetime | None
    deleted_by: UUID | None
    version: int


class Product(Struct, rename="camel", gc=False):
    id: UUID
    name: str
    sku: str
    description: str | None
    price: Decimal
    stock: int
    status: str
    category_id: UUID | None
    released_at: datetime | None
    photo_id: UUID | None
    created_at: datetime
    updated_at: datetime
    created_by: UUID | None
    updated_by: UUID | None
    is_deleted: bool
    deleted_at: datetime | None
    deleted_by: UUID | None
    version: int


class ProductInCategory(Product, rename="camel", gc=False):
    category: Category | None


class Page(Struct, rename="camel"):
    items: Sequence[Product]
    page: int
    page_size: int
    total_count: int
    total_pages: int
    has_next_page: bool
    has_previous_page: bool


class Success(Struct):
    data: Any
    success: bool = True


class IdentitySuccess(Struct, rename="camel"):
    data: Any
    is_success: bool = True


_encoder = json.Encoder(decimal_format="number")


def answer(body: Struct, status: int = 200, headers: dict[str, str] | None = None) -> Response[bytes]:
    return Response(_encoder.encode(body), status_code=status, headers=headers, media_type="application/json")


BY_ID = f"SELECT {COLUMNS} FROM products WHERE tenant_id = $1 AND id = $2 AND NOT is_deleted"


@get("/api/products/{product_id:uuid}")
async def read(request: Call, product_id: FromPath[UUID]) -> Response[bytes]:
    row = await request.app.state.pool.fetchrow(BY_ID, caller(request).tenant_id, product_id)
    if row is None:
        raise NotFoundException
    return answer(Success(Product(*row)))


@get("/api/products")
async def page(  # noqa: PLR0913, PLR0917  # so a handler of this framework takes its query
    request: Call,
    category_id: Annotated[UUID | None, QueryParameter(name="categoryId")] = None,
    status: FromQuery[str | None] = None,
    search: FromQuery[str | None] = None,
    include: FromQuery[str | None] = None,
    sort: FromQuery[Literal["price:desc"] | None] = None,
    category_name: Annotated[str | None, QueryParameter(name="category.name")] = None,
    min_price: Annotated[Decimal | None, QueryParameter(name="minPrice")] = None,
    max_price: Annotated[Decimal | None, QueryParameter(name="maxPrice")] = None,
    number: Annotated[int, QueryParameter(name="page", ge=1)] = 1,
    size: Annotated[int, QueryParameter(name="pageSize", ge=1, le=100)] = 20,
) -> Response[bytes]:
    asked = Filters(category_id, status, search, category_name, min_price, max_price)
    where, arguments = _conditions(caller(request).tenant_id, asked)
    join = CATEGORY if category_name is not None or include == "category" else ""
    counted = f"SELECT count(*) FROM products p {join if category_name is not None else ''} WHERE {where}"
    async with request.app.state.pool.acquire() as connection:
        total = await connection.fetchval(counted, *arguments)
        text = _page_text(where, len(arguments), include, join, sort)
        rows = await connection.fetch(text, *arguments, size, (number - 1) * size)
    items = [_in_category(row) for row in rows] if include == "category" else [Product(*row) for row in rows]
    pages = -(-total // size)
    return answer(Success(Page(items, number, size, total, pages, number < pages, number > 1)))


class Filters(Struct, frozen=True):
    category_id: UUID | None
    status: str | None
    search: str | None
    category_name: str | None
    min_price: Decimal | None
    max_price: Decimal | None


def _conditions(tenant_id: UUID, asked: Filters) -> tuple[str, list[Any]]:
    where, arguments = ["p.tenant_id = $1", "NOT p.is_deleted"], list[Any]([tenant_id])
    for condition, value in (
        ("p.category_id =", asked.category_id),
        ("p.status =", asked.status),
        ("c.name =", asked.category_name),
        ("p.price >=", asked.min_price),
        ("p.price <=", asked.max_price),
    ):
        if value is not None:
            arguments.append(value)
            where.append(f"{condition} ${len(arguments)}")
    for word in (asked.search or "").split():
        arguments.append(f"%{word}%")
        place = f"${len(arguments)}"
        where.append(f"(p.name ILIKE {place} OR p.sku ILIKE {place} OR p.description ILIKE {place})")
    return " AND ".join(where), arguments


CATEGORY = "LEFT JOIN categories c ON c.tenant_id = p.tenant_id AND c.id = p.category_id AND NOT c.is_deleted"


def _page_text(where: str, taken: int, include: str | None, join: str, sort: str | None) -> str:
    columns = _prefixed("p", COLUMNS)
    if include == "category":
        columns += ", " + _prefixed("c", CATEGORY_COLUMNS)
    first = "p.created_at DESC" if sort is None else "p.price DESC"
    order = f"ORDER BY {first}, p.id DESC LIMIT ${taken + 1} OFFSET ${taken + 2}"
    return f"SELECT {columns} FROM products p {join} WHERE {where} {order}"


def _prefixed(alias: str, columns: str) -> str:
    return ", ".join(f"{alias}.{column}" for column in columns.split(", "))


def _in_category(row: asyncpg.Record) -> ProductInCategory:
    category = [None] if row[18] is None else [Category(*row[18:])]
    return ProductInCategory(*row[:18], *category)


INSERT = f"""
INSERT INTO products (tenant_id, id, name, sku, description, price, stock, status, category_id, released_at,
    created_at, updated_at, created_by, updated_by, version)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12, $12, 1)
RETURNING {COLUMNS}"""


@post("/api/products")
async def create(request: Call, data: JSONBody[ProductForm]) -> Response[bytes]:
    who, form = caller(request), data
    try:
        row = await request.app.state.pool.fetchrow(
            INSERT, who.tenant_id, uuid7(), form.name, form.sku, form.description, form.price, form.stock,
            form.status, form.category_id, form.released_at, datetime.now(UTC), who.sub,
        )  # fmt: skip
    except asyncpg.PostgresError as error:
        raise _refusal(error) from error
    return answer(Success(Product(*row)), 201, {"Location": f"/api/products/{row['id']}"})


UPDATE = f"""
UPDATE products SET name = coalesce($3, name), description = coalesce($4, description),
    price = coalesce($5, price), stock = coalesce($6, stock), status = coalesce($7, status),
    updated_at = $8, updated_by = $9, version = version + 1
WHERE tenant_id = $1 AND id = $2 AND NOT is_deleted RETURNING {COLUMNS}"""


@put("/api/products/{product_id:uuid}")
async def update(request: Call, product_id: FromPath[UUID], data: JSONBody[ProductChanges]) -> Response[bytes]:
    who, form = caller(request), data
    row = await request.app.state.pool.fetchrow(
        UPDATE, who.tenant_id, product_id, form.name, form.description, form.price, form.stock, form.status,
        datetime.now(UTC), who.sub,
    )  # fmt: skip
    if row is None:
        raise NotFoundException
    return answer(Success(Product(*row)))


DELETE = """
UPDATE products SET is_deleted = true, deleted_at = $3, deleted_by = $4, updated_at = $3, updated_by = $4,
    version = version + 1
WHERE tenant_id = $1 AND id = $2 AND NOT is_deleted"""


@delete("/api/products/{product_id:uuid}")
async def remove(request: Call, product_id: FromPath[UUID]) -> None:
    who = caller(request)
    done = await request.app.state.pool.execute(DELETE, who.tenant_id, product_id, datetime.now(UTC), who.sub)
    if done == "UPDATE 0":
        raise NotFoundException


INSERT_MANY = f"""
INSERT INTO products (tenant_id, created_at, updated_at, created_by, updated_by, version,
    id, name, sku, description, price, stock, status, category_id, released_at)
SELECT $1, $2, $2, $3, $3, 1, *
FROM unnest($4::uuid[], $5::text[], $6::text[], $7::text[], $8::numeric[], $9::int[], $10::text[], $11::uuid[],
    $12::timestamptz[])
RETURNING {COLUMNS}"""


@post("/api/products/batch", status_code=200)
async def create_batch(request: Call, data: JSONBody[BatchForm]) -> Response[bytes]:
    who, forms = caller(request), data.items
    columns = [
        [uuid7() for _ in forms],
        [form.name for form in forms],
        [form.sku for form in forms],
        [form.description for form in forms],
        [form.price for form in forms],
        [form.stock for form in forms],
        [form.status for form in forms],
        [form.category_id for form in forms],
        [form.released_at for form in forms],
    ]
    try:
        rows = await request.app.state.pool.fetch(INSERT_MANY, who.tenant_id, datetime.now(UTC), who.sub, *columns)
    except asyncpg.PostgresError as error:
        raise _refusal(error) from error
    return answer(Success({"created": len(rows), "items": [Product(*row) for row in rows]}))


def _refusal(error: asyncpg.PostgresError) -> Exception:
    if isinstance(error, asyncpg.UniqueViolationError):
        return ClientException("Such a product exists.", status_code=409)
    if isinstance(error, asyncpg.ForeignKeyViolationError):
        return ClientException("There is no such category.", status_code=400)
    return error


@get("/api/auth/me")
async def me(request: Call) -> Response[bytes]:
    who = caller(request)
    shown = {"id": who.sub, "name": who.name, "email": who.email, "roles": who.roles, "permissions": who.permissions}
    return answer(IdentitySuccess(shown))


@get("/health/live")
async def live() -> dict[str, float]:
    return {"at": time.time()}


async def _keep(_: asyncpg.Connection) -> None:
    """Returns a connection to the pool without a round trip: its session is never changed."""


@asynccontextmanager
async def lifespan(app: Litestar) -> AsyncIterator[None]:
    url = os.environ["BASELINE_DATABASE_URL"]
    async with asyncpg.create_pool(url, min_size=10, max_size=20, max_queries=2**31, reset=_keep) as pool:
        app.state.pool = pool
        yield


app = Litestar(
    [read, page, create, update, remove, create_batch, export_products, import_products, login, me, live],
    lifespan=[lifespan],
    openapi_config=None,
    logging_config=None,
)
