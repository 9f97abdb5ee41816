"""When the deletion of a row asks the rules of the rows that refer to it."""

from typing import Annotated
from uuid import UUID

import pytest
from msgspec import Struct

from domain.entities.markers import entity, ref
from domain.entities.registry import build_registry
from tests.library import LIBRARY, Visit


@entity("boxes")
class Box(Struct, rename="camel", kw_only=True):
    name: str


@entity("sleeves")
class Sleeve(Struct, rename="camel", kw_only=True):
    name: str
    box_id: Annotated[UUID | None, ref("boxes", on_delete="clear")] = None


@entity("posters")
class Poster(Struct, rename="camel", kw_only=True):
    sleeve_id: Annotated[UUID | None, ref("sleeves", on_delete="cascade")] = None


@pytest.mark.promise(
    "declarations, references: clear asks the rule of the row that it changes, at a deletion and at one for good"
)
def test_rules_are_asked_where_a_cleared_reference_is_one_that_they_look_at() -> None:
    # A visit clears references to visits, and has a rule.
    others = [made for made in LIBRARY if made is not Visit]
    registry = build_registry([*others, Box, Sleeve, Poster])
    assert registry.deletion_asks_a_rule(registry["genres"])
    # Volumes go with their shelf, and a cascade leads nowhere else.
    assert not registry.deletion_asks_a_rule(registry["shelves"])
    # A reference is cleared, of an entity without a rule.
    assert not registry.deletion_asks_a_rule(registry["boxes"])
    assert not registry.deletion_asks_a_rule(registry["posters"])
