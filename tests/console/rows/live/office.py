"""Two people at their browsers, and orders with a feed."""

from dataclasses import dataclass, field
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct
from playwright.async_api import Locator, Page, expect

from domain.entities.markers import entity, ref
from tests.console.conftest import Visitor
from tests.http.app import Json, TestApp

BOSS, CLERK = "boss@acme.example", "clerk@acme.example"
STREAM = "/api/changes/stream"


@entity("customers")
class Customer(Struct, rename="camel", kw_only=True):
    """An entity without a feed."""

    name: str


@entity("orders", changes=True, history=True, sort="number", columns=["number", "status", "customer_id", "price"])
class Order(Struct, rename="camel", kw_only=True):
    number: Annotated[str, Meta(max_length=40)]
    status: Literal["open", "paid", "sent"] = "open"
    price: str = "1.00"
    customer_id: Annotated[UUID | None, ref("customers", on_delete="clear")] = None


@dataclass
class Office:
    """Two people at their browsers, and orders by their numbers."""

    boss: Visitor
    clerk: Visitor
    app: TestApp
    orders: dict[str, str] = field(default_factory=dict)

    @property
    def page(self) -> Page:
        return self.boss.page

    def row(self, number: str) -> Locator:
        return self.page.get_by_role("row", name=number)

    @property
    def fresh(self) -> Locator:
        return self.page.locator(".fresh button")

    async def call(self, method: str, path: str, body: object = None) -> Json:
        """A request of the colleague's program."""
        answer = await self.app.call(method, path, as_whom="acme", json=body)
        assert answer.is_success, answer.text
        found: Json = answer.json() if answer.content else {}
        data: Json = found.get("data", found)
        return data

    async def add(self, number: str, **values: object) -> None:
        made = await self.call("POST", "/api/orders", {"number": number, **values})
        self.orders[number] = str(made["id"])

    async def change(self, order: str, **values: object) -> None:
        await self.call("PATCH", f"/api/orders/{self.orders[order]}", values)

    async def delete(self, number: str) -> None:
        await self.call("DELETE", f"/api/orders/{self.orders[number]}")

    async def open(self, path: str = "rows/orders") -> None:
        await self.boss.enter(path, BOSS)
        await self.is_live()
        # rows that are read later include what happened before
        await expect(self.page.locator(".loading, .waiting")).to_have_count(0)

    async def is_live(self) -> None:
        await expect(self.page.locator(".live.on")).to_be_visible()


def reads(visitor: Visitor) -> int:
    """Return how often the list of orders was read."""
    return len([request for request in visitor.requests if "/api/orders?" in request.url])


def streams(visitor: Visitor) -> int:
    """Return how often a stream was opened."""
    return len([request for request in visitor.requests if STREAM in request.url])
