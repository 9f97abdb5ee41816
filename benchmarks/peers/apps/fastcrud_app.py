"""FastCRUD on FastAPI, served by uvicorn: routers by ``crud_router``, each tenant's rows by a row-level policy.

Sources: FastCRUD's guide (endpoints, row-level policies, automatic fields, joins), FastAPI's tutorial (OAuth2 with
passwords and JWT), SQLAlchemy's guide (engine and pool).
"""

import csv
import io
import os
import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any

import jwt
from fastapi import Depends, FastAPI, HTTPException
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from fastapi.security import OAuth2PasswordBearer, OAuth2PasswordRequestForm
from fastcrud import CreateConfig, FastCRUD, FilterConfig, JoinConfig, PolicyConfig, UpdateConfig, crud_router
from pwdlib import PasswordHash
from pydantic import BaseModel, Field
from sqlalchemy import DateTime, ForeignKey, Numeric
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

SECRET = os.environ["PEER_SECRET"]
LIFETIME = timedelta(hours=1)

engine = create_async_engine(os.environ["PEER_DATABASE_URL"], pool_size=20, max_overflow=0)
sessions = async_sessionmaker(engine, expire_on_commit=False)
passwords = PasswordHash.recommended()
bearer = OAuth2PasswordBearer(tokenUrl="/api/auth/login")


class Base(DeclarativeBase):
    type_annotation_map = {datetime: DateTime(timezone=True), Decimal: Numeric(12, 2)}


class User(Base):
    __tablename__ = "users"
    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[uuid.UUID]
    email: Mapped[str]
    password_hash: Mapped[str]


class Audited:
    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    tenant_id: Mapped[uuid.UUID]
    created_at: Mapped[datetime] = mapped_column(default=lambda: datetime.now(UTC))
    updated_at: Mapped[datetime] = mapped_column(default=lambda: datetime.now(UTC))
    created_by: Mapped[uuid.UUID | None] = mapped_column(default=None)
    updated_by: Mapped[uuid.UUID | None] = mapped_column(default=None)
    is_deleted: Mapped[bool] = mapped_column(default=False)
    deleted_at: Mapped[datetime | None] = mapped_column(default=None)
    version: Mapped[int] = mapped_column(default=1)


class Category(Audited, Base):
    __tablename__ = "categories"
    name: Mapped[str]
    description: Mapped[str | None]


class Product(Audited, Base):
    __tablename__ = "products"
    name: Mapped[str]
    sku: Mapped[str]
    description: Mapped[str | None]
    price: Mapped[Decimal]
    stock: Mapped[int] = mapped_column(default=0)
    status: Mapped[str] = mapped_column(default="draft")
    category_id: Mapped[uuid.UUID | None] = mapped_column(ForeignKey("categories.id"))
    released_at: Mapped[datetime | None]


class ProductForm(BaseModel):
    name: Annotated[str, Field(min_length=1, max_length=200)]
    sku: Annotated[str, Field(pattern="^[A-Z0-9-]{3,32}$")]
    price: Decimal
    description: Annotated[str, Field(max_length=10_000)] | None = None
    stock: Annotated[int, Field(ge=0)] = 0
    status: Annotated[str, Field(pattern="^(draft|live|retired)$")] = "draft"
    category_id: uuid.UUID | None = None
    released_at: datetime | None = None


class ProductChanges(BaseModel):
    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    description: Annotated[str, Field(max_length=10_000)] | None = None
    price: Decimal | None = None
    stock: Annotated[int, Field(ge=0)] | None = None
    status: Annotated[str, Field(pattern="^(draft|live|retired)$")] | None = None


class AuditedRead(BaseModel):
    id: uuid.UUID
    name: str
    description: str | None
    created_at: datetime
    updated_at: datetime
    created_by: uuid.UUID | None
    updated_by: uuid.UUID | None
    is_deleted: bool
    version: int


class CategoryRead(AuditedRead):
    pass


class ProductRead(AuditedRead):
    sku: str
    price: Decimal
    stock: int
    status: str
    category_id: uuid.UUID | None
    released_at: datetime | None


class ProductInCategory(ProductRead):
    category: CategoryRead | None


class OwnedProduct(ProductForm):
    id: uuid.UUID
    tenant_id: uuid.UUID
    created_by: uuid.UUID


class BatchForm(BaseModel):
    items: Annotated[list[ProductForm], Field(min_length=1, max_length=1_000)]


class Caller(BaseModel):
    user_id: uuid.UUID
    tenant_id: uuid.UUID


async def session() -> AsyncIterator[AsyncSession]:
    async with sessions() as opened:
        yield opened


async def caller(token: Annotated[str, Depends(bearer)]) -> Caller:
    try:
        claims = jwt.decode(token, SECRET, algorithms=["HS256"])
    except jwt.InvalidTokenError:
        raise HTTPException(401, "Could not validate credentials", {"WWW-Authenticate": "Bearer"}) from None
    return Caller(user_id=claims["sub"], tenant_id=claims["tenant_id"])


Known = Annotated[Caller, Depends(caller)]
Opened = Annotated[AsyncSession, Depends(session)]


async def tenant_of(who: Known) -> uuid.UUID:
    return who.tenant_id


async def user_of(who: Known) -> uuid.UUID:
    return who.user_id


async def own_products(who: Known) -> PolicyConfig:
    """A tenant's living rows alone, for each operation."""
    own = [Product.tenant_id == who.tenant_id, Product.is_deleted.is_(False)]
    return PolicyConfig(read=own, create=True, update=True, delete=True)


SHARED: dict[str, Any] = {
    "session": session,
    "model": Product,
    "create_schema": ProductForm,
    "update_schema": ProductChanges,
    "policy": own_products,
    "filter_config": FilterConfig(category_id=None, status=None, price__gte=None, price__lte=None),
}

app = FastAPI()


class Credentials(BaseModel):
    access_token: str
    token_type: str = "bearer"


@app.post("/api/auth/login")
async def login(form: Annotated[OAuth2PasswordRequestForm, Depends()], db: Opened) -> Credentials:
    user = await FastCRUD(User).get(db, email=form.username)
    if user is None or not await run_in_threadpool(passwords.verify, form.password, user["password_hash"]):
        raise HTTPException(401, "Incorrect username or password")
    claims = {"sub": str(user["id"]), "tenant_id": str(user["tenant_id"]), "exp": datetime.now(UTC) + LIFETIME}
    return Credentials(access_token=jwt.encode(claims, SECRET, algorithm="HS256"))


@app.post("/api/products/batch")
async def create_batch(form: BatchForm, who: Known, db: Opened) -> list[ProductRead]:
    """By hand: FastCRUD writes many rows with ``upsert_multi``, and has no endpoint for it."""
    owned = [
        OwnedProduct(**item.model_dump(), id=uuid.uuid4(), tenant_id=who.tenant_id, created_by=who.user_id)
        for item in form.items
    ]
    columns = [column.name for column in Product.__table__.columns]
    made = await FastCRUD(Product).upsert_multi(db, owned, commit=True, return_columns=columns)
    return [ProductRead.model_validate(row) for row in made["data"]]


@app.get("/api/products/export")
async def export(who: Known, db: Opened) -> StreamingResponse:
    """By hand: FastAPI's way to stream an answer."""
    products = FastCRUD(Product).with_policy(await own_products(who))
    found = await products.get_multi(db, limit=None, sort_columns=["created_at", "id"], sort_orders=["desc", "desc"])
    headers = {"Content-Disposition": 'attachment; filename="products.csv"'}
    return StreamingResponse(_lines(found["data"]), media_type="text/csv", headers=headers)


def _lines(rows: list[dict[str, Any]], each: int = 500) -> Iterator[str]:
    names = list(ProductRead.model_fields)
    for start in range(0, max(1, len(rows)), each):
        text = io.StringIO()
        writer = csv.DictWriter(text, names, extrasaction="ignore")
        if start == 0:
            writer.writeheader()
        writer.writerows(rows[start : start + each])
        yield text.getvalue()


app.include_router(
    crud_router(
        **SHARED,
        path="/api/products",
        select_schema=ProductRead,
        create_config=CreateConfig(auto_fields={"tenant_id": tenant_of, "created_by": user_of, "updated_by": user_of}),
        update_config=UpdateConfig(auto_fields={"updated_by": user_of}),
        included_methods=["create", "read", "read_multi", "update", "delete"],
    )
)
app.include_router(
    crud_router(
        **SHARED,
        path="/api/products-in-categories",
        select_schema=ProductInCategory,
        joins_config=[
            JoinConfig(
                model=Category,
                join_on=Product.category_id == Category.id,
                join_prefix="category__",
                schema_to_select=CategoryRead,
            )
        ],
        included_methods=["read_multi"],
    )
)
