"""Entities that hold files, for tests."""

from typing import Annotated
from uuid import UUID

from msgspec import Struct

from domain.entities.attachments.marks import attachment, attachments
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.markers import entity, guarded, mine, ref, unique
from domain.entities.registry import build_registry

IMAGES = ["image/png", "image/jpeg"]


@entity("shelves")
class Shelf(Struct, rename="camel", kw_only=True):
    name: str


@entity(
    "items",
    history=True,
    unique=[unique("code")],
    own=[mine("created_by")],
    sort="code",
)
class Item(Struct, rename="camel", kw_only=True):
    code: str
    shelf_id: Annotated[UUID | None, ref("shelves", on_delete="cascade")] = None
    photo_id: Annotated[UUID | None, attachment(IMAGES, 100_000)] = None
    plan_ids: Annotated[list[UUID], attachments(["application/pdf", "text/plain"], 100_000, limit=3)] = []
    contract_id: Annotated[
        UUID | None,
        attachment(["application/octet-stream"], 1_000),
        guarded(read="read:contracts", write="update:contracts"),
    ] = None


@entity("notes", soft_delete=False)
class Note(Struct, rename="camel", kw_only=True):
    text: str
    scan_id: Annotated[UUID | None, attachment(IMAGES, 100_000)] = None


ATTACHED = (Shelf, Item, Note)
REGISTRY = build_registry([*BUILTIN_ENTITIES, *ATTACHED])
