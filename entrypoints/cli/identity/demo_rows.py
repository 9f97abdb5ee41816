"""Rows of ``tenantry demo``: several people write them over ten weeks, by the ordinary use cases."""

import dataclasses
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from itertools import groupby
from typing import NamedTuple
from uuid import UUID

from msgspec.structs import replace

from application.entities.batches import Batches
from application.entities.writing import Write
from application.ports.entities.records import Change
from domain.scope import Caller, OneTenant
from entrypoints.assembly.use_cases import Services
from entrypoints.cli.identity.demo_data import FIRST_DAY, Shop, changes, products, reviews
from entrypoints.cli.identity.demo_photos import upload_photos


class _PastClock(NamedTuple):
    at: datetime

    def now(self) -> datetime:
        return self.at


@dataclasses.dataclass(frozen=True)
class _Writer:
    """Writes rows on past days; ``ids`` has the user ids by e-mail."""

    services: Services
    caller: Caller
    ids: Mapping[str, UUID]

    async def add(self, plural: str, day: int, email: str, rows: Iterable[dict[str, object]]) -> list[UUID]:
        model = self.services.registry[plural]
        defaults = {field.name: field.default for field in model.declared}
        stored = await self._batches(day).create(self._write(email), model, [defaults | row for row in rows])
        return [row.id for row in stored.answer]

    async def change(self, plural: str, day: int, email: str, changed: Iterable[Change]) -> None:
        await self._batches(day).update(self._write(email), self.services.registry[plural], list(changed))

    def _batches(self, day: int) -> Batches:
        at = self.services.clock.now() - timedelta(days=day, minutes=day * 37 % 480)
        batches = self.services.batches
        return dataclasses.replace(batches, writing=dataclasses.replace(batches.writing, clock=_PastClock(at)))

    def _write(self, email: str) -> Write:
        return Write(caller=replace(self.caller, user_id=self.ids[email]), scope=OneTenant(self.caller.tenant.id))


async def fill_catalogue(services: Services, caller: Caller, ids: Mapping[str, UUID], shop: Shop) -> int:
    """Create the rows of the shop, change them, and return the number of products."""
    writer, owner = _Writer(services, caller, ids), shop.people[0].email
    categories = await writer.add("categories", FIRST_DAY, owner, [{"name": name} for name in shop.categories])
    named = dict(zip(shop.categories, categories, strict=True))
    added: list[UUID] = []
    stock = products(shop)
    sender = replace(caller, user_id=ids[owner])
    photos = iter(await upload_photos(services, sender, [product.category for product in stock]))
    for day, made in groupby(stock, key=lambda product: product.day):
        rows = [product.values | {"category_id": named[product.category], "photo_id": next(photos)} for product in made]
        added += await writer.add("products", day, owner, rows)
    for (day, email), steps in groupby(changes(shop), key=lambda step: (step.day, step.email)):
        await writer.change("products", day, email, [Change(added[step.product], step.values) for step in steps])
    for (day, email), written in groupby(reviews(shop), key=lambda review: (review.day, review.email)):
        rows = [review.values | {"product_id": added[review.product]} for review in written]
        await writer.add("reviews", day, email, rows)
    return len(added)
