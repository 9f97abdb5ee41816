"""Entities that hold every kind of field and every kind of relation."""

from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from domain.entities.builtin_entities import BUILTIN_ENTITIES, TenantMember
from domain.entities.markers import (
    big,
    entity,
    guarded,
    index,
    links,
    many,
    member,
    mine,
    money,
    ref,
    through,
    unique,
)


class Colour(Enum):
    RED = "red"
    GREEN = "green"


@entity("units", tenant_owned=False, soft_delete=False, search=["label"], sort="label")
class Unit(Struct, rename="camel", kw_only=True):
    label: str
    base_id: Annotated[UUID | None, ref("units", on_delete="clear")] = None


@entity(
    "things",
    search=["title", "note", "secret"],
    unique=[unique("title", ignore_case=True)],
    indexes=[index("unit_id", "price"), index("round"), index("fine")],
    has_many={
        "parts": many("things", by="whole_id"),
        "links": many("links", by="from_id"),
        "nearer": many("things", by="near_ids"),
    },
    sort="amount",
)
class Thing(Struct, rename="camel", kw_only=True):
    title: str
    note: str | None = None
    secret: Annotated[str | None, guarded(read="read:secrets")] = None
    amount: int | None = None
    total: Annotated[int | None, big] = None
    price: Annotated[Decimal | None, money(12, 2)] = None
    round: Annotated[Decimal | None, money(12, 0)] = None
    fine: Annotated[Decimal | None, money(20, 8)] = None
    n: int | None = None
    ratio: float | None = None
    is_open: bool | None = None
    seen_at: datetime | None = None
    day: date | None = None
    code: UUID | None = None
    colour: Colour | None = None
    size: Literal["s", "m", "l"] = "m"
    tags: list[str] | None = None
    keys: list[UUID] | None = None
    whole_id: Annotated[UUID | None, ref("things", on_delete="cascade")] = None
    unit_id: Annotated[UUID | None, ref("units", on_delete="restrict")] = None
    near_ids: Annotated[list[UUID], links("things", relation="near")] = []
    secret_ids: Annotated[list[UUID], links("units", relation="secretUnits"), guarded(read="read:secrets")] = []


@entity("links", soft_delete=False, sort="-weight")
class Link(Struct, rename="camel", kw_only=True):
    from_id: Annotated[UUID, ref("things", on_delete="cascade", permanent=True)]
    to_id: Annotated[UUID | None, ref("things", on_delete="clear")] = None
    weight: int = 0


@entity("licences", sort="seats")
class Licence(Struct, rename="camel", kw_only=True):
    """Refers to rows that are shared with some tenants."""

    application_id: Annotated[UUID | None, ref("applications", on_delete="restrict")] = None
    seats: int = 1


@entity("labels", own=[mine("owner_id")], has_many={"tasks": many("tasks", by="label_ids")}, shared=True, sort="name")
class Label(Struct, rename="camel", kw_only=True):
    """Own rows by a member field, and targets of links that a caller may not see."""

    name: str
    owner_id: Annotated[UUID | None, member(on_leave="keep")] = None


@entity("teams", has_many={"members": many("team-members", by="team_id")}, sort="name")
class Team(Struct, rename="camel", kw_only=True):
    name: str


@entity("team-members", own=[mine("user_id")], sort="level")
class TeamMember(Struct, rename="camel", kw_only=True):
    team_id: Annotated[UUID, ref("teams", on_delete="cascade")]
    user_id: UUID | None = None
    level: int = 0


@entity(
    "tasks",
    own=[mine("created_by"), mine("assignee_id"), through("team", "members", "user_id")],
    has_many={"subtasks": many("tasks", by="parent_id")},
    search=["title"],
    sort="title",
    shared=True,
)
class Task(Struct, rename="camel", kw_only=True):
    """Own rows by every kind of rule."""

    title: str
    assignee_id: Annotated[UUID | None, member(on_leave="clear")] = None
    team_id: Annotated[UUID | None, ref("teams", on_delete="clear")] = None
    label_ids: Annotated[list[UUID], links("labels")] = []
    parent_id: Annotated[UUID | None, ref("tasks", on_delete="clear")] = None


OWNED = (TenantMember, Label, Team, TeamMember, Task)
DECLARED = (Unit, Thing, Link)
LICENSED = (*BUILTIN_ENTITIES, Licence)
