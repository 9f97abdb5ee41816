"""Litestar with advanced-alchemy, served by granian: a controller over a service, whose statement is a tenant's rows.

Sources: advanced-alchemy's guide (services, Litestar's plugin, filter dependencies), Litestar's guide (JWT
authentication, streaming responses).
"""

import asyncio
import csv
import io
import os
from collections.abc import AsyncGenerator, Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID, uuid4

from advanced_alchemy.extensions.litestar import (
    AsyncSessionConfig,
    EngineConfig,
    SQLAlchemyAsyncConfig,
    SQLAlchemyPlugin,
    base,
    filters,
    mixins,
    providers,
    repository,
    service,
)
from advanced_alchemy.service import OffsetPagination
from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from litestar import Controller, Litestar, Request, Response, delete, get, patch, post
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency, Provide
from litestar.exceptions import NotAuthorizedException
from litestar.params import FromPath, FromQuery, JSONBody, SkipValidation
from litestar.response import Stream
from litestar.security.jwt import JWTAuth, Token
from msgspec import Meta, Struct, to_builtins
from sqlalchemy import ForeignKey, Numeric, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, joinedload, mapped_column, relationship


class Caller(Struct, frozen=True):
    user_id: UUID
    tenant_id: UUID


Call = Request[Caller, Token, Any]


class User(base.DefaultBase):
    __tablename__ = "users"
    id: Mapped[UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID]
    email: Mapped[str]
    password_hash: Mapped[str]


class Audited(mixins.AuditColumns):
    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    tenant_id: Mapped[UUID]
    created_by: Mapped[UUID | None] = mapped_column(default=None)
    updated_by: Mapped[UUID | None] = mapped_column(default=None)
    version: Mapped[int] = mapped_column(default=1)


class Category(Audited, base.DefaultBase):
    __tablename__ = "categories"
    name: Mapped[str]
    description: Mapped[str | None]


class Product(Audited, base.DefaultBase):
    __tablename__ = "products"
    name: Mapped[str]
    sku: Mapped[str]
    description: Mapped[str | None]
    price: Mapped[Decimal] = mapped_column(Numeric(12, 2))
    stock: Mapped[int] = mapped_column(default=0)
    status: Mapped[str] = mapped_column(default="draft")
    category_id: Mapped[UUID | None] = mapped_column(ForeignKey("categories.id"))
    released_at: Mapped[datetime | None]
    category: Mapped[Category | None] = relationship(lazy="noload")


class ProductForm(Struct):
    name: Annotated[str, Meta(min_length=1, max_length=200)]
    sku: Annotated[str, Meta(pattern="^[A-Z0-9-]{3,32}$")]
    price: Decimal
    description: Annotated[str, Meta(max_length=10_000)] | None = None
    stock: Annotated[int, Meta(ge=0)] = 0
    status: Annotated[str, Meta(pattern="^(draft|live|retired)$")] = "draft"
    category_id: UUID | None = None
    released_at: datetime | None = None


class ProductChanges(Struct, omit_defaults=True):
    name: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    description: Annotated[str, Meta(max_length=10_000)] | None = None
    price: Decimal | None = None
    stock: Annotated[int, Meta(ge=0)] | None = None
    status: Annotated[str, Meta(pattern="^(draft|live|retired)$")] | None = None


class BatchForm(Struct):
    items: Annotated[list[ProductForm], Meta(min_length=1, max_length=1_000)]


class AuditedRead(Struct):
    id: UUID
    name: str
    description: str | None
    created_at: datetime
    updated_at: datetime
    created_by: UUID | None
    updated_by: UUID | None
    version: int


class CategoryRead(AuditedRead):
    pass


class ProductRead(AuditedRead):
    sku: str
    price: Decimal
    stock: int
    status: str
    category_id: UUID | None
    released_at: datetime | None


class ProductInCategory(ProductRead):
    category: CategoryRead | None


class Products(service.SQLAlchemyAsyncRepositoryService[Product]):
    class Repo(repository.SQLAlchemyAsyncRepository[Product]):
        model_type = Product

    repository_type = Repo


class LoginForm(Struct):
    email: str
    password: str


async def provide_products(
    db_session: NamedDependency[SkipValidation[AsyncSession]], request: Call
) -> AsyncGenerator[Products, None]:
    """The service confined to the rows of the caller's tenant: each of its reads and writes begins with them."""
    own = select(Product).where(Product.tenant_id == request.user.tenant_id)
    async with Products.new(session=db_session, statement=own) as made:
        yield made


OwnProducts = NamedDependency[SkipValidation[Products]]
Filters = NamedDependency[SkipValidation[list[filters.FilterTypes]]]


class ProductsController(Controller):
    path = "/api/products"
    dependencies = {
        "products": Provide(provide_products),
        **providers.create_filter_dependencies(
            {"pagination_type": "limit_offset", "pagination_size": 20, "sort_field": "created_at", "sort_order": "desc"}
        ),
    }

    @get()
    async def list_products(
        self,
        products: OwnProducts,
        filters: Filters,
        category_id: FromQuery[UUID | None] = None,
        status: FromQuery[str | None] = None,
        least: FromQuery[Decimal | None] = None,
        most: FromQuery[Decimal | None] = None,
    ) -> OffsetPagination[ProductRead]:
        found, total = await products.get_many_and_count(*filters, *_conditions(category_id, status, least, most))
        return products.to_schema(found, total, filters=filters, schema_type=ProductRead)

    @get("/in-categories")
    async def list_with_categories(
        self,
        products: OwnProducts,
        filters: Filters,
        category_id: FromQuery[UUID | None] = None,
        status: FromQuery[str | None] = None,
        least: FromQuery[Decimal | None] = None,
        most: FromQuery[Decimal | None] = None,
    ) -> OffsetPagination[ProductInCategory]:
        conditions = _conditions(category_id, status, least, most)
        load = [joinedload(Product.category)]
        found, total = await products.get_many_and_count(*filters, *conditions, load=load)
        return products.to_schema(found, total, filters=filters, schema_type=ProductInCategory)

    @get("/{product_id:uuid}")
    async def read_product(self, products: OwnProducts, product_id: FromPath[UUID]) -> ProductRead:
        return products.to_schema(await products.get(product_id), schema_type=ProductRead)

    @post()
    async def create_product(self, request: Call, products: OwnProducts, data: JSONBody[ProductForm]) -> ProductRead:
        made = await products.create(_owned(data, request.user))
        return products.to_schema(made, schema_type=ProductRead)

    @post("/batch")
    async def create_products(
        self, request: Call, products: OwnProducts, data: JSONBody[BatchForm]
    ) -> Sequence[ProductRead]:
        made = await products.create_many([_owned(item, request.user) for item in data.items])
        return [products.to_schema(product, schema_type=ProductRead) for product in made]

    @patch("/{product_id:uuid}")
    async def update_product(
        self, request: Call, products: OwnProducts, product_id: FromPath[UUID], data: JSONBody[ProductChanges]
    ) -> ProductRead:
        changes = to_builtins(data, builtin_types=(Decimal,)) | {"updated_by": request.user.user_id}
        changed = await products.update(changes, item_id=product_id)
        return products.to_schema(changed, schema_type=ProductRead)

    @delete("/{product_id:uuid}")
    async def delete_product(self, products: OwnProducts, product_id: FromPath[UUID]) -> None:
        await products.delete(product_id)

    @get("/export")
    async def export_products(self, products: OwnProducts) -> Stream:
        """By hand: Litestar's way to stream an answer."""
        found = await products.get_many(order_by=[("created_at", True), ("id", True)])
        headers = {"Content-Disposition": 'attachment; filename="products.csv"'}
        return Stream(_lines(found), media_type="text/csv", headers=headers)


def _conditions(category_id: UUID | None, status: str | None, least: Decimal | None, most: Decimal | None) -> list[Any]:
    conditions: list[Any] = []
    if category_id is not None:
        conditions.append(Product.category_id == category_id)
    if status is not None:
        conditions.append(Product.status == status)
    if least is not None:
        conditions.append(Product.price >= least)
    if most is not None:
        conditions.append(Product.price <= most)
    return conditions


def _owned(form: ProductForm, who: Caller) -> Product:
    fields = {name: getattr(form, name) for name in form.__struct_fields__}
    return Product(**fields, tenant_id=who.tenant_id, created_by=who.user_id, updated_by=who.user_id)


def _lines(rows: Sequence[Product], each: int = 500) -> Iterator[str]:
    names = ProductRead.__struct_fields__
    for start in range(0, max(1, len(rows)), each):
        text = io.StringIO()
        writer = csv.writer(text)
        if start == 0:
            writer.writerow(names)
        writer.writerows([getattr(row, name) for name in names] for row in rows[start : start + each])
        yield text.getvalue()


async def caller_of(token: Token, _: ASGIConnection[Any, Any, Any, Any]) -> Caller:
    return Caller(UUID(token.sub), UUID(token.extras["tenant_id"]))


auth = JWTAuth[Caller](
    retrieve_user_handler=caller_of,
    token_secret=os.environ["PEER_SECRET"],
    default_token_expiration=timedelta(hours=1),
    exclude=["/api/auth/login", "/schema"],
)
hasher = PasswordHasher()


@post("/api/auth/login", status_code=200)
async def login(db_session: NamedDependency[SkipValidation[AsyncSession]], data: JSONBody[LoginForm]) -> Response[Any]:
    user = await db_session.scalar(select(User).where(User.email == data.email))
    try:
        await asyncio.to_thread(hasher.verify, user.password_hash if user else "", data.password)
    except (VerifyMismatchError, ValueError):
        raise NotAuthorizedException("The e-mail or the password is wrong.") from None
    assert user is not None
    return auth.login(str(user.id), token_extras={"tenant_id": str(user.tenant_id)}, send_token_as_response_body=True)


database = SQLAlchemyAsyncConfig(
    connection_string=os.environ["PEER_DATABASE_URL"],
    before_send_handler="autocommit",
    session_config=AsyncSessionConfig(expire_on_commit=False),
    engine_config=EngineConfig(pool_size=20, max_overflow=0),
)

app = Litestar([ProductsController, login], plugins=[SQLAlchemyPlugin(config=database)], on_app_init=[auth.on_app_init])
