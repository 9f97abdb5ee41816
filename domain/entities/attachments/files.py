"""Files of rows: their states, and the rows that responses show for them."""

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from msgspec import Struct

from domain.entities.attachments.marks import FILES, Attachment
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.markers import entity

FileState = Literal["writing", "temporary", "held", "released", "deleting", "abandoned"]
"""``writing`` until the store has the content; ``temporary`` until a row holds the file; ``held`` by one row;
``released`` by that row, which may hold it again; ``deleting`` while housekeeping deletes the content. ``abandoned``
files were never completely written, and do not count for the usage."""

STORED: frozenset[FileState] = frozenset({"temporary", "held", "released"})
"""States of files with a content."""
WRITTEN_WITHIN = timedelta(hours=1)
"""Age at which a file that was not completely written is deleted."""
ATTACHED_WITHIN = timedelta(hours=24)
"""Age at which a temporary file is deleted."""


@entity(FILES, soft_delete=False, writable=False, sort="name")
class AttachedFile(Struct, rename="camel", kw_only=True):
    """A file of a row. ``sizes`` are the names of its thumbnails."""

    name: str
    type: str
    size: int
    sha256: str
    width: int | None = None
    height: int | None = None
    sizes: list[str] = []


class StoredFile(Struct, frozen=True, kw_only=True):
    """A row of ``files``; ``since`` is the begin of the state. ``entity`` and ``row_id`` name the row that holds it."""

    tenant_id: UUID
    id: UUID
    purpose: str
    name: str
    type: str
    size: int
    sha256: str
    state: FileState
    since: datetime
    created_at: datetime
    created_by: UUID | None
    width: int | None = None
    height: int | None = None
    sizes: tuple[str, ...] = ()
    entity: str | None = None
    row_id: UUID | None = None


def relation_of(model: EntityModel, field: FieldModel) -> str:
    """Return the name of the field's relation: ``photo`` for ``photo_id``."""
    return next(name for name, found in model.relations.items() if not found.is_inverse and found.by == field.name)


def purpose_of(model: EntityModel, field: FieldModel) -> str:
    """Return the purpose of files for the field: ``products.photo``."""
    return f"{model.plural}.{relation_of(model, field)}"


def purposes(registry: Registry, hidden: Collection[tuple[str, str]]) -> Iterator[str]:
    """Yield the purposes of all fields for files except the ``hidden`` ones, which are names of entities and fields."""
    for model in registry:
        for field in model.attachments:
            if (model.plural, field.name) not in hidden:
                yield purpose_of(model, field)


def find_purpose(registry: Registry, purpose: str) -> tuple[EntityModel, FieldModel, Attachment] | None:
    """Return the entity, the field and its rules; None for an unknown purpose."""
    plural, _, name = purpose.partition(".")
    model = registry.models.get(plural)
    relation = None if model is None else model.relations.get(name)
    if model is None or relation is None or relation.is_inverse:
        return None
    field = model.by_name[relation.by]
    return None if field.attachment is None else (model, field, field.attachment)
