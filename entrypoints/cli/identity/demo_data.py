"""Users and rows for ``tenantry demo``, the same in each run."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from msgspec import Struct

PRODUCTS_OF_A_CATEGORY = 15
REVIEWS = 240
REVIEWS_OF_REVIEWER = 12
FIRST_DAY = 70
"""Days before today on which the oldest rows were created."""
START = datetime(2026, 1, 5, 8, tzinfo=UTC)
SIZES = ("small", "medium", "large", "travel size", "refill", "gift set")
OPINIONS = (
    (5, "Exactly what I hoped for. I have ordered two more as presents."),
    (5, "Arrived a day early and feels well made."),
    (4, "Very good, only the packaging was a little damaged."),
    (4, "Does what it should. The instructions could be longer."),
    (3, "All right for the price, but the colour differs from the picture."),
    (2, "It broke after three weeks. The exchange was quick, though."),
    (1, "Not for me: I sent it back."),
)
AUTHORS = ("Mara", "Jonas", "Aylin", "Priya", "Tom", "Ingrid", "Luca", "Amina", "Pavel", "Sofia", "Noor", "Kenji")


class Person(Struct, frozen=True):
    name: str
    email: str
    roles: tuple[str, ...]


class Shop(Struct, frozen=True, kw_only=True):
    """A tenant. ``categories`` has the product kinds by category; the last of ``people`` writes reviews."""

    name: str
    identifier: str
    code: str
    people: tuple[Person, ...]
    categories: dict[str, tuple[str, ...]]

    @property
    def reviewer(self) -> Person:
        return self.people[-1]


_VERA = "vera.lindqvist@example.com"

SHOPS = (
    Shop(
        name="Harbour Coffee",
        identifier="harbour-coffee",
        code="HC",
        people=(
            Person("Nils Petersen", "nils.petersen@example.com", ("Admin",)),
            Person("Joana Reis", "joana.reis@example.com", ("Shop floor",)),
            Person("Vera Lindqvist", _VERA, ("Admin",)),
            Person("Samir Haddad", "samir.haddad@example.com", ("Reviewer",)),
        ),
        categories={
            "Coffee": ("House blend", "Single origin Ethiopia", "Single origin Peru", "Espresso roast", "Decaf"),
            "Tea": ("Assam", "Earl Grey", "Rooibos", "Sencha", "Peppermint"),
            "Brewing": ("Hand filter", "Paper filters", "French press", "Moka pot", "Cold brew jug"),
            "Machines": ("Burr grinder", "Milk frother", "Gooseneck kettle", "Kitchen scale", "Hand grinder"),
        },
    ),
    Shop(
        name="Ridgeline Outdoor",
        identifier="ridgeline-outdoor",
        code="RO",
        people=(
            Person("Elif Demir", "elif.demir@example.com", ("Admin",)),
            Person("Vera Lindqvist", _VERA, ("Shop floor",)),
            Person("Marek Nowak", "marek.nowak@example.com", ("Reviewer",)),
        ),
        categories={
            "Tents": ("Trail tent", "Family tent", "Tarp", "Footprint", "Tent pegs"),
            "Packs": ("Day pack", "Trekking pack", "Dry bag", "Hip belt", "Rain cover"),
            "Cooking": ("Gas stove", "Cooking pot", "Folding cup", "Water filter", "Cutlery"),
            "Light": ("Head torch", "Lantern", "Power bank", "Solar panel", "Bike light"),
        },
    ),
)


class DemoProduct(Struct, frozen=True):
    """A product of the demo; ``day`` counts the days from its creation until today."""

    day: int
    category: str
    values: dict[str, object]


class DemoStep(Struct, frozen=True):
    """A change or a review of a product on a past day; ``product`` is its place in the list of products."""

    day: int
    email: str
    product: int
    values: dict[str, object]


def products(shop: Shop) -> list[DemoProduct]:
    """Return the products, the oldest first. Some are drafts, some are retired."""
    chance = random.Random(shop.identifier)
    made: list[DemoProduct] = []
    for number in range(PRODUCTS_OF_A_CATEGORY):
        for category, kinds in shop.categories.items():
            kind, size = kinds[number % len(kinds)], SIZES[(number // len(kinds) * 2 + len(made)) % len(SIZES)]
            values: dict[str, object] = {
                "name": f"{kind}, {size}",
                "sku": f"{shop.code}-{category[:3].upper()}-{number + 1:02}",
                "description": f"{kind} by {shop.name}, {size}.",
                "price": Decimal(chance.randrange(390, 18_990, 10)) / 100,
                "stock": chance.randrange(20, 240),
                "status": chance.choices(("live", "draft", "retired"), (8, 1, 1))[0],
                "released_at": START + timedelta(days=chance.randrange(300)),
            }
            made.append(DemoProduct(FIRST_DAY - number // 3 * 16, category, values))
    return made


def changes(shop: Shop) -> list[DemoStep]:
    """Return changes of the oldest products in their order: counted stock, higher and lower prices, new states."""
    chance = random.Random(shop.code)
    first, second = shop.people[0].email, shop.people[1].email
    made = products(shop)
    old = [number for number, product in enumerate(made) if product.day == FIRST_DAY]
    steps: list[DemoStep] = []
    for day in range(FIRST_DAY - 3, 0, -3):
        counted = chance.sample(old, 4)
        steps += [DemoStep(day, second, number, {"stock": chance.randrange(0, 240)}) for number in counted]
        if day % 2:
            factor = chance.choice((90, 95, 104, 108))
            steps += [
                DemoStep(day - 1, first, number, _priced(made[number], factor)) for number in chance.sample(old, 2)
            ]
    drafts = [number for number in old if made[number].values["status"] == "draft"]
    return [*steps, *(DemoStep(0, first, number, {"status": "live"}) for number in drafts)]


def _priced(product: DemoProduct, percent: int) -> dict[str, object]:
    price = product.values["price"]
    assert isinstance(price, Decimal)
    return {"price": (price * percent / 100).quantize(Decimal("0.01"))}


def reviews(shop: Shop) -> Sequence[DemoStep]:
    """Return reviews, the oldest first. As in a shop, a few products have many reviews."""
    chance = random.Random(shop.identifier)
    most = PRODUCTS_OF_A_CATEGORY * len(shop.categories)
    made: list[DemoStep] = []
    for place in range(REVIEWS):
        rating, text = chance.choices(OPINIONS, (6, 6, 4, 4, 2, 1, 1))[0]
        number = min(int(chance.expovariate(6) * most), most - 1)
        writer = shop.reviewer if place % (REVIEWS // REVIEWS_OF_REVIEWER) == 0 else shop.people[1]
        author = shop.reviewer.name if writer is shop.reviewer else chance.choice(AUTHORS)
        values: dict[str, object] = {"rating": rating, "author": author, "text": text}
        made.append(DemoStep(int(chance.triangular(0, FIRST_DAY - 14, 5)), writer.email, number, values))
    return sorted(made, key=lambda review: (-review.day, review.email))
