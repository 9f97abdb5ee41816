"""State of entities: their rows, and the stored answers to repeated requests."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from msgspec import Struct

Row = dict[str, object]
Tables = dict[str, dict[UUID, Row]]
"""Rows of entities by table and id; replaced, never mutated."""


class StoredResponseRow(Struct, frozen=True, kw_only=True):
    fingerprint: str
    answer: bytes
    at: datetime


@dataclass(kw_only=True)
class EntityState:
    answers: dict[tuple[UUID, UUID, str], StoredResponseRow] = field(default_factory=dict)
    tables: Tables = field(default_factory=dict)
