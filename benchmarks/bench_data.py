"""Data of both servers: tenants, users, categories and products, and the ids that the load uses."""

from collections.abc import Mapping
from uuid import UUID

from msgspec import Struct

PASSWORD = "correct horse battery staple 7"
TRANSIENT = "B-"
"""Prefix of the sku of every row that a run makes; such rows are removed before the next run."""

ACTIONS = ("create", "read", "update", "delete")
PERMISSIONS = [f"{action}:{what}" for what in ("categories", "products") for action in ACTIONS]


CATALOGUE = 3


class Size(Struct, frozen=True, kw_only=True):
    """Number of products and tenants; each tenant has 200 categories, or fewer with few products.

    ``entities`` is the number that the service serves: three of a catalogue, and others without rows.
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
    """Ids for the load: some ``products`` of each tenant, and all ``categories``."""

    size: Size
    users: tuple[User, ...]
    products: Mapping[UUID, tuple[UUID, ...]]
    categories: Mapping[UUID, tuple[UUID, ...]]

    @property
    def tenants(self) -> tuple[UUID, ...]:
        return tuple(self.products)
