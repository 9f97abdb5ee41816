"""Example entities of a shop's catalogue, to copy for your own."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from enum import Enum
from importlib.util import find_spec
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from domain.entities.attachments.marks import attachment
from domain.entities.markers import entity, index, label, many, mine, money, ref, unique
from domain.entities.screens.choices import choice, choices
from domain.errors import FieldError

Name = Annotated[str, Meta(min_length=1, max_length=100)]
PHOTOS = ["image/png", "image/jpeg", "image/webp"]
# Thumbnails need the optional package pillow.
THUMBNAILS = {"small": (128, 128)} if find_spec("PIL") else None


@entity(
    "categories",
    search=["name"],
    unique=[unique("name", ignore_case=True)],
    has_many={"products": many("products", by="category_id")},
    history=True,
)
class Category(Struct, rename="camel", kw_only=True):
    name: Name
    description: Annotated[str, Meta(max_length=2_000)] | None = None


class Status(Enum):
    DRAFT = "draft"
    LIVE = "live"
    RETIRED = "retired"


ON_SCREENS = choices(
    {"draft": choice(color="blue"), "live": choice("For sale", "green"), "retired": choice(color="grey")}
)


@entity(
    "products",
    search=["name", "sku", "description"],
    unique=[unique("sku")],
    indexes=[index("category_id", "price")],
    has_many={"reviews": many("reviews", by="product_id")},
    check_reads=["status", "category_id"],
    display="name",
    columns=["name", "sku", "category_id", "price", "stock", "status", "released_at", "photo_id"],
    history=True,
)
class Product(Struct, rename="camel", kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=200)]
    sku: Annotated[str, Meta(pattern="^[A-Z0-9-]{3,32}$", examples=["LAMP-01"]), label("SKU")]
    description: Annotated[str, Meta(max_length=10_000)] | None = None
    price: Annotated[Decimal, money(12, 2, ge=0)]
    stock: Annotated[int, Meta(ge=0)] = 0
    status: Annotated[Status, ON_SCREENS] = Status.DRAFT
    category_id: Annotated[UUID | None, ref("categories", on_delete="restrict")] = None
    released_at: datetime | None = None
    photo_id: Annotated[UUID | None, attachment(PHOTOS, max_bytes=5_000_000, thumbnails=THUMBNAILS)] = None

    def check(self, before: "Product | None") -> Iterator[FieldError]:  # noqa: ARG002  # rules on changes look at it
        if self.status is Status.LIVE and self.category_id is None:
            yield FieldError("categoryId", "a live product needs a category")


@entity("reviews", own=[mine("created_by")])
class Review(Struct, rename="camel", kw_only=True):
    product_id: Annotated[UUID, ref("products", on_delete="cascade")]
    rating: Annotated[int, Meta(ge=1, le=5)]
    author: Name
    text: Annotated[str, Meta(max_length=2_000)] | None = None


@entity("currencies", unique=[unique("code")], tenant_owned=False, soft_delete=False)
class Currency(Struct, rename="camel", kw_only=True):
    code: Annotated[str, Meta(pattern="^[A-Z]{3}$", examples=["EUR"])]
    name: Name


ENTITIES = (Category, Product, Review, Currency)
