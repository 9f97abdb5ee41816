"""Entities with links: with history, soft delete or rules, to shared rows, and to rows of the same entity."""

from collections.abc import Iterator
from typing import Annotated
from uuid import UUID

from msgspec import Struct

from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.markers import entity, guarded, links, many, mine, ref, unique
from domain.entities.registry import build_registry
from domain.errors import FieldError


@entity("tags", search=["name"], has_many={"orders": many("orders", by="tag_ids")})
class Tag(Struct, rename="camel", kw_only=True):
    name: str


@entity("countries", tenant_owned=False, sort="name")
class Country(Struct, rename="camel", kw_only=True):
    name: str


@entity("boxes", has_many={"inside": many("boxes", by="box_ids")})
class Box(Struct, rename="camel", kw_only=True):
    name: str
    box_ids: Annotated[list[UUID], links("boxes", relation="contents")] = []


@entity("customers", has_many={"orders": many("orders", by="customer_id")})
class Customer(Struct, rename="camel", kw_only=True):
    name: str


@entity("orders", history=True, search=["title"], unique=[unique("title")])
class Order(Struct, rename="camel", kw_only=True):
    title: str
    tag_ids: Annotated[list[UUID], links("tags", limit=100)] = []
    country_ids: Annotated[list[UUID], links("countries", limit=3), guarded(write="update:countries-of-orders")] = []
    box_ids: Annotated[list[UUID], links("boxes", on_delete="restrict")] = []
    customer_id: Annotated[UUID | None, ref("customers")] = None


@entity("notes", soft_delete=False, unique=[unique("is_first")], sort="id")
class Note(Struct, rename="camel", kw_only=True):
    """Its unique values can only be swapped by deleting and inserting the rows."""

    text: str = ""
    is_first: bool
    tag_ids: Annotated[list[UUID], links("tags")] = []


@entity("folders", own=[mine("created_by")])
class Folder(Struct, rename="camel", kw_only=True):
    name: str


@entity("papers", own=[mine("created_by")], history=True, has_many={"papers": many("papers", by="paper_ids")})
class Paper(Struct, rename="camel", kw_only=True):
    title: str
    folder_ids: Annotated[list[UUID], links("folders")] = []
    paper_ids: Annotated[list[UUID], links("papers", relation="cited")] = []


@entity("bundles")
class Bundle(Struct, rename="camel", kw_only=True):
    name: str
    tag_ids: Annotated[list[UUID], links("tags")] = []

    def check(self, before: "Bundle | None") -> Iterator[FieldError]:
        if len(self.tag_ids) > 2:
            yield FieldError("tagIds", "may be two at most")


LINKED = (Tag, Country, Box, Customer, Order, Note, Folder, Paper, Bundle)
REGISTRY = build_registry([*ENTITIES, *BUILTIN_ENTITIES, *LINKED])
