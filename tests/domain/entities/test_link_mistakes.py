"""Mistakes in declarations of links, each with its remedy."""

from typing import Annotated, Any
from uuid import UUID

import pytest
from msgspec import Meta, Struct, defstruct, field

from domain.entities.markers import entity, links, many, ref, unique
from domain.entities.registry import DeclarationError, build_registry
from tests.linked_entities import REGISTRY


def declared(plural: str, fields: dict[str, Any], name: str = "A", **options: Any) -> type[Struct]:
    members = [(key, *value) if isinstance(value, tuple) else (key, value) for key, value in fields.items()]
    return entity(plural, **options)(defstruct(name, members, rename="camel", kw_only=True))


TAG = declared("tags", {"name": str}, "Tag")


def linked(*marks: Any, of: Any = list[UUID]) -> Any:
    return Annotated[(of, *marks)]


def mistakes(*kinds: type[Struct]) -> str:
    with pytest.raises(DeclarationError) as caught:
        build_registry(kinds)
    return "\n".join(caught.value.mistakes)


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        (linked(links("tags"), of=UUID), "is not a list of ids"),
        (linked(links("tags"), of=list[str]), "is not a list of ids"),
        ((linked(links("tags"), of=list[UUID] | None), None), "an empty list means no links"),
        (linked(links("tags", limit=0)), "limit=0), which must be a whole number from 1 to 1,000"),
        (linked(links("tags", limit=True)), "limit=True), which must be a whole number"),
        (linked(links("tags", on_delete="cascade")), "on_delete='cascade'), which is unknown"),  # type: ignore[arg-type]  # the mistake
        (linked(links(5)), "it accepts the path of an entity first"),  # type: ignore[arg-type]  # the mistake
        (linked(links("tags", relation=5)), "relation=…), which must be a text"),  # type: ignore[arg-type]  # the mistake
        (linked(links("tags"), Meta(max_length=3)), "declare links(…, limit=…)"),
        (linked(links("tags"), links("tags")), "a field leads to one entity"),
        (linked(links("tags"), ref("tags")), "a field leads to one entity"),
        (linked(links), "is marked links without brackets"),
        (linked(links("labels")), "leads to 'labels', which is not declared"),
        (linked(links("tags", relation="history")), "has the name of a route"),
        ((linked(links("tags")), field(default_factory=lambda: [UUID(int=1)])), "a default with ids"),
    ],
)
def test_a_wrong_field_with_links_is_reported(hint: Any, said: str) -> None:
    assert said in mistakes(TAG, declared("as", {"tag_ids": hint}))


def test_links_have_no_column_for_unique_values_and_orders() -> None:
    kind = declared("as", {"tag_ids": linked(links("tags"))}, unique=[unique("tag_ids")], sort="tag_ids")
    assert "unique() names 'tag_ids', which has links and no column" in mistakes(TAG, kind)
    assert "sort names 'tag_ids', which is a list and has no order" in mistakes(TAG, kind)


def test_rows_that_nobody_writes_have_no_links() -> None:
    kind = declared("as", {"tag_ids": linked(links("tags"))}, writable=False, sort="id")
    assert "writable=False leaves no route to set them" in mistakes(TAG, kind)


def test_shared_rows_do_not_link_to_rows_of_a_tenant() -> None:
    kind = declared("as", {"tag_ids": linked(links("tags"))}, tenant_owned=False)
    assert "leads from rows shared by all tenants to rows of one tenant" in mistakes(TAG, kind)


def test_an_inverse_relation_needs_links_that_lead_back() -> None:
    kind = declared("as", {"tag_ids": linked(links("tags"))}, has_many={"others": many("as", by="tag_ids")})
    assert "needs a field 'tag_ids' of 'as' that refers back" in mistakes(TAG, kind)


@pytest.mark.parametrize(
    ("name", "relation"), [("tag_ids", "tags"), ("category_ids", "categories"), ("box_ids", "boxes")]
)
def test_the_relation_is_the_plural_of_the_field_without_its_ending(name: str, relation: str) -> None:
    kind = declared("as", {name: (linked(links("tags")), [])})
    assert list(build_registry([TAG, kind])["as"].relations) == [relation]


def test_a_registry_knows_who_links_to_an_entity() -> None:
    assert [(model.plural, field.name) for model, field in REGISTRY.linking("boxes")] == [
        ("boxes", "box_ids"),
        ("orders", "box_ids"),
    ]
