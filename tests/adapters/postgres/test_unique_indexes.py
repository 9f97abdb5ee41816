"""Every declared unique has its index, whatever the entity is like."""

from itertools import product

import pytest
from msgspec import Struct, defstruct

from adapters.postgres.schema.schema import metadata_for
from domain.entities.markers import entity, unique
from domain.entities.registry import build_registry

CASES = list(product((True, False), repeat=3))


@pytest.mark.parametrize(("tenant_owned", "soft_delete", "ignore_case"), CASES)
def test_a_declared_unique_has_an_index(*, tenant_owned: bool, soft_delete: bool, ignore_case: bool) -> None:
    class Book(Struct, kw_only=True):
        title: str
        number: int

    declared = [unique("title", ignore_case=ignore_case), unique("title", "number", ignore_case=ignore_case)]
    books = entity("books", tenant_owned=tenant_owned, soft_delete=soft_delete, unique=declared)(Book)
    indexes = metadata_for(build_registry([books])).tables["books"].indexes
    assert {index.name for index in indexes if index.unique} == {"uq_books_title", "uq_books_title_number"}


@pytest.mark.parametrize("name", ["a" * 60, "a" * 57, "a" * 56, "é" * 30], ids=["60", "57", "56", "of two bytes"])
def test_the_name_of_a_copy_has_at_most_63_bytes(name: str) -> None:
    book = entity("books", unique=[unique(name, ignore_case=True)])(defstruct("Book", [(name, str)], kw_only=True))
    columns = metadata_for(build_registry([book])).tables["books"].columns
    (copy,) = [column.name for column in columns if column.computed is not None]
    assert len(copy.encode()) <= 63
    assert copy.endswith("$lower")
    assert copy.startswith(name[:20])
