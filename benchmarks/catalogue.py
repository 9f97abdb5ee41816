"""The example catalogue with products that have no history: the baseline and the peers record none either."""

from domain.entities import catalogue
from domain.entities.markers import entity, index, many, unique


@entity(
    "products",
    search=["name", "sku", "description"],
    unique=[unique("sku")],
    indexes=[index("category_id", "price")],
    has_many={"reviews": many("reviews", by="product_id")},
    check_reads=["status", "category_id"],
)
class Product(catalogue.Product, rename="camel", kw_only=True):
    pass


ENTITIES = (catalogue.Category, Product, catalogue.Review, catalogue.Currency)
