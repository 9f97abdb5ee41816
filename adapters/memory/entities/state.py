"""State of entities: their rows, and the stored answers to repeated requests."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID, uuid5

from msgspec import Struct

from domain.entities.declaration import EntityModel

Row = dict[str, object]
Tables = dict[str, dict[UUID, Row]]
"""Rows of entities by table and id; replaced, never mutated."""

SHARES = "row_shares"
"""Table of the shares of rows, by ``share_key``; no entity may have its name."""


def share_key(tenant_id: UUID, model: EntityModel, row_id: object, user_id: UUID) -> UUID:
    return uuid5(tenant_id, f"{model.plural} {row_id} {user_id}")


def end_shares(tables: Tables, is_ended: Callable[[Row], bool]) -> None:
    if SHARES in tables:
        tables[SHARES] = {key: share for key, share in tables[SHARES].items() if not is_ended(share)}


class StoredResponseRow(Struct, frozen=True, kw_only=True):
    fingerprint: str
    answer: bytes
    at: datetime


@dataclass(kw_only=True)
class EntityState:
    answers: dict[tuple[UUID, UUID, str], StoredResponseRow] = field(default_factory=dict)
    tables: Tables = field(default_factory=dict)
