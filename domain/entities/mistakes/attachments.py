"""Errors of fields that hold files."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from domain.entities.attachments.marks import LARGEST_THUMBNAIL, MOST_FILES, MOST_THUMBNAILS, Attachment
from domain.entities.attachments.types import DETECTABLE, IMAGES
from domain.entities.declaration import EntityModel
from domain.entities.kinds import Kind
from domain.entities.markers import Links, Reference
from domain.entities.mistakes.links import ROUTES
from domain.entities.mistakes.places import Mistake

_SIZE = re.compile(r"[a-z][a-z0-9_-]{0,29}")
_TYPES = ", ".join(sorted(DETECTABLE))


def attachment_mistakes(mark: Attachment) -> Iterator[str]:
    """Return the errors of the arguments of ``attachment(…)``, as phrases that follow the field's name."""
    if not mark.types:
        yield 'accepts no type of file: name one, as in attachment(["image/png"], 5_000_000)'
    for name in mark.types:
        if name not in DETECTABLE:
            yield f"accepts files of the type {name!r}, which cannot be found in their content: use {_TYPES}"
    if not _is_number(mark.max_bytes, 2**63):
        yield f"has max_bytes={mark.max_bytes!r}, which must be a whole number from 1"
    if mark.limit is not None and not _is_number(mark.limit, MOST_FILES):
        yield f"has attachments(…, limit={mark.limit!r}), which must be a whole number from 1 to {MOST_FILES}"
    yield from _image_mistakes(mark)


def _image_mistakes(mark: Attachment) -> Iterator[str]:
    if (mark.thumbnails or mark.strip_metadata) and not set(mark.types) <= IMAGES:
        yield f"has thumbnails or strip_metadata, which are for images only: {', '.join(sorted(IMAGES))}"
    if len(mark.thumbnails) > MOST_THUMBNAILS:
        yield f"has {len(mark.thumbnails)} thumbnails; a file may have {MOST_THUMBNAILS}"
    for name, box in mark.thumbnails:
        if not _is_name(name):
            yield f"has a thumbnail named {name!r}: use 1 to 30 of a-z, 0-9, - and _, a letter first"
        if not _is_box(box):
            yield f"has a thumbnail of {box!r}: use width and height in pixels, each from 1 to {LARGEST_THUMBNAIL}"


def _is_name(name: object) -> bool:
    return isinstance(name, str) and _SIZE.fullmatch(name) is not None


def _is_box(box: object) -> bool:
    return isinstance(box, tuple) and len(box) == 2 and all(_is_number(side, LARGEST_THUMBNAIL) for side in box)


def _is_number(value: object, most: int) -> bool:
    return type(value) is int and 1 <= value <= most


def attachment_mark_mistakes(
    kind: Kind, marks: Sequence[object], rules: Mapping[str, Any], default: object, *, nullable: bool
) -> Iterator[str]:
    """Return the errors of the marker on a field, as phrases that follow its name."""
    found = [mark for mark in marks if isinstance(mark, Attachment)]
    for mark in found:
        yield from attachment_mistakes(mark)
    if not found:
        return
    if len(found) > 1 or any(isinstance(mark, Reference | Links) for mark in marks):
        yield "has attachment(…) and another marker that leads to rows: a field holds files or refers to rows"
    if found[0].limit is not None:
        yield from _list_mistakes(kind, rules, default, nullable=nullable)
    elif kind is not Kind.UUID:
        yield "has attachment(…) but is not an id: use Annotated[UUID | None, attachment(…)]"


def _list_mistakes(kind: Kind, rules: Mapping[str, Any], default: object, *, nullable: bool) -> Iterator[str]:
    if kind is not Kind.LINKS:
        yield "has attachments(…) but is not a list of ids: use Annotated[list[UUID], attachments(…)]"
    if nullable:
        yield "has attachments(…) and accepts null: an empty list means no files"
    if {"min_length", "max_length"} & rules.keys():
        yield "has attachments(…) and a length: declare attachments(…, limit=…)"
    if isinstance(default, list | tuple) and default:
        yield "has attachments(…) and a default with ids, which name files of one tenant: its default is []"


def attached_entity_mistakes(model: EntityModel) -> Iterator[Mistake]:
    """Return the errors of an entity with files."""
    for field in model.attachments:
        if not model.tenant_owned:
            yield Mistake(
                f"field {field.name!r} holds files, but tenant_owned=False: files belong to a tenant", field.name
            )
        if not model.declaration.writable:
            yield Mistake(
                f"field {field.name!r} holds files, but writable=False leaves no route to set them", field.name
            )
    held = {field.name for field in model.attachments}
    for relation in model.relations.values():
        if not relation.is_inverse and relation.by in held and relation.name.lower() in ROUTES:
            yield Mistake(
                f"relation {relation.name!r} has the name of a route: give the field another name", relation.by
            )


def over_limit(models: Iterable[EntityModel], most: int) -> Iterator[str]:
    """Return the errors of fields that accept larger files than the service does."""
    for model in models:
        for field in model.attachments:
            if field.attachment is not None and field.attachment.max_bytes > most:
                yield (
                    f"{model.name}: field {field.name!r} has max_bytes={field.attachment.max_bytes:,}, but the setting "
                    f"TENANTRY_FILES_MAX_BYTES allows {most:,}"
                )


def not_installed(models: Iterable[EntityModel]) -> Iterator[str]:
    """Return the errors of fields with thumbnails, for a service without the package that creates them."""
    for model in models:
        for field in model.attachments:
            if field.attachment is not None and field.attachment.thumbnails:
                yield (
                    f"{model.name}: field {field.name!r} has thumbnails, which need packages that are missing: "
                    "pip install 'tenantry[images]'"
                )
