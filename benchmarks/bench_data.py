"""What both servers hold: the same tenants, users, categories and products, and what the load knows of them."""

from collections.abc import Mapping
from uuid import UUID

from msgspec import Struct

PASSWORD = "correct horse battery staple 7"
TRANSIENT = "B-"
"""How the sku of every row begins that a run makes; such rows are gone before the next one."""

PERMISSIONS = [f"{action}:{what}" for what in ("categories", "products") for action in ("create", "read", "update")]


CATALOGUE = 4


class Size(Struct, frozen=True, kw_only=True):
    """How many products, over how many tenants; each has 200 categories, or fewer where it has few products.

    ``entities`` is how many the service serves: the example catalogue's four, and more of no rows.
    """

    rows: int = 100_000
    tenants: int = 10
    entities: int = CATALOGUE

    @property
    def rows_each(self) -> int:
        return self.rows // self.tenants

    @property
    def categories_each(self) -> int:
        return max(1, min(200, self.rows_each // 50))


class User(Struct, frozen=True):
    id: UUID
    tenant_id: UUID
    email: str


class BenchData(Struct, frozen=True, kw_only=True):
    """``products`` are some of each tenant's, ``categories`` all of them."""

    size: Size
    users: tuple[User, ...]
    products: Mapping[UUID, tuple[UUID, ...]]
    categories: Mapping[UUID, tuple[UUID, ...]]

    @property
    def tenants(self) -> tuple[UUID, ...]:
        return tuple(self.products)
