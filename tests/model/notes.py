"""Notes that members own by a field or by a group, and share; labels that their creators own."""

from typing import Annotated
from uuid import UUID

from msgspec import Struct

from domain.entities.markers import entity, links, many, member, mine, ref, through, unique


@entity("labels", own=[mine("created_by")], has_many={"notes": many("notes", by="label_ids")}, sort="name")
class Label(Struct, rename="camel", kw_only=True):
    name: str


@entity("groups", has_many={"seats": many("seats", by="group_id")})
class Group(Struct, rename="camel", kw_only=True):
    name: str


@entity("seats")
class Seat(Struct, rename="camel", kw_only=True):
    group_id: Annotated[UUID, ref("groups", on_delete="cascade")]
    user_id: UUID


@entity(
    "notes",
    own=[mine("reader_id"), through("group", "seats", "user_id")],
    unique=[unique("title")],
    history=True,
    shared=True,
    sort="title",
)
class Note(Struct, rename="camel", kw_only=True):
    title: str
    points: int = 0
    reader_id: Annotated[UUID | None, member(on_leave="clear")] = None
    group_id: Annotated[UUID | None, ref("groups", on_delete="clear")] = None
    label_ids: Annotated[list[UUID], links("labels")] = []


ENTITIES = (Label, Group, Seat, Note)
