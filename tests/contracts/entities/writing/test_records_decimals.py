"""Records: conditions, orders and cursors of decimals that an index names, which PostgreSQL keeps a copy of."""

import re
from decimal import Decimal

import pytest

from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.entities.query.cursors import read_cursor, write_cursor
from domain.entities.query.query import SortKey
from domain.entities.query.read_query import read_query
from domain.errors import BadRequest
from tests.builders import new_id
from tests.contracts.entities.reading.test_records_reading import Shop


@pytest.fixture
def shop(database: WholeDatabase, registry: Registry) -> Shop:
    return Shop(database, registry)


BOUNDED = [
    ("minPrice=1.005", ["1.01", "2.00"]),
    ("price.gt=1.005", ["1.01", "2.00"]),
    ("price.gt=1.01", ["2.00"]),
    ("maxPrice=1.005", ["0.00", "1.00"]),
    ("price.lt=1.005", ["0.00", "1.00"]),
    ("price.lt=1.00", ["0.00"]),
    ("price=1.005", []),
    ("price=1.0100", ["1.01"]),
    ("price.ne=1.005", ["0.00", "1.00", "1.01", "2.00"]),
    ("price=1,1.005,2.000", ["1.00", "2.00"]),
    ("minPrice=-1e30&maxPrice=1e30", ["0.00", "1.00", "1.01", "2.00"]),
    ("minPrice=1e30", []),
    ("maxPrice=-1e30", []),
    ("price=1e30,1e-30,1", ["1.00"]),
    ("price.ne=1e30", ["0.00", "1.00", "1.01", "2.00"]),
    ("price.gt=-0.000001", ["0.00", "1.00", "1.01", "2.00"]),
    ("price.isNull=true", []),
    ("price.isNull=false", ["0.00", "1.00", "1.01", "2.00"]),
]


@pytest.mark.promise("declarations, indexes and decimals: Amounts of any digits are compared with the copy exactly")
@pytest.mark.parametrize(("asked", "expected"), BOUNDED)
async def test_decimals_are_compared_beyond_the_digits_of_their_column(
    shop: Shop, asked: str, expected: list[str]
) -> None:
    """An indexed decimal is compared as a whole number: values that it cannot have find what they always found."""
    await shop.products(*({"price": Decimal(price)} for price in ("2", "0", "1.01", "1")))
    page = await shop.page("products", f"{asked}&sort=price&fields=price")
    assert re.findall(r'"price":\s*([^,}]*)', bytes(page.items).decode()) == expected


async def test_zero_has_no_sign(shop: Shop) -> None:
    await shop.products({"price": Decimal("-0.00")}, {"price": Decimal("-0")})
    page = await shop.page("products", "fields=price")
    assert re.findall(r'"price":\s*([^,}]*)', bytes(page.items).decode()) == ["0.00", "0.00"]


@pytest.mark.promise(
    "declarations, indexes and decimals: Row-level security keeps a decimal from its index; its scaled copy is used by "
    "conditions, sorts and cursors (speed: make bench, make scale-tenants)"
)
async def test_a_cursor_over_a_decimal_contains_the_decimal(shop: Shop) -> None:
    await shop.products(*({"price": Decimal(price)} for price in ("2", "0", "1.01", "1")))
    page = await shop.page("products", "sort=price:desc&pageSize=2")
    assert page.last is not None
    assert page.last[0] == Decimal("1.01")
    cursor = write_cursor(sorted_by_price(shop.registry), page.last)
    further = await shop.items("products", f"sort=price:desc&pageSize=2&cursor={cursor}")
    assert [item["price"] for item in further] == [1, 0]


def sorted_by_price(registry: Registry) -> tuple[SortKey, ...]:
    return read_query(registry["products"], registry, frozenset(), [("sort", "price:desc")]).sort


@pytest.mark.promise("declarations, indexes and decimals: Amounts of any digits are compared with the copy exactly")
def test_a_cursor_with_more_digits_than_the_column_is_refused(registry: Registry) -> None:
    sort = sorted_by_price(registry)
    cursor = write_cursor(sort, [Decimal("1.005"), new_id()])
    with pytest.raises(BadRequest, match="not valid for this order"):
        read_cursor(registry, registry["products"], sort, cursor)
