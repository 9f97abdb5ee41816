"""The example catalogue, for ``TENANTRY_ENTITIES=tenantry.catalogue``."""

from domain.entities.catalogue import ENTITIES, Category, Currency, Product, Review, Status

__all__ = ["ENTITIES", "Category", "Currency", "Product", "Review", "Status"]
