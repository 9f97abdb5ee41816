"""The catalogue of the benchmarks: the tables of the baseline and of the peers.

Products have no history and no reviews, which would be further work for each change and each deletion.
"""

from domain.entities import catalogue
from domain.entities.markers import entity, index, unique


@entity(
    "products",
    search=["name", "sku", "description"],
    unique=[unique("sku")],
    indexes=[index("category_id", "price")],
    check_reads=["status", "category_id"],
)
class Product(catalogue.Product, rename="camel", kw_only=True):
    pass


ENTITIES = (catalogue.Category, Product, catalogue.Currency)
