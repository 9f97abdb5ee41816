"""Declarative base of identity's tables. It does not import advanced-alchemy, which imports Litestar."""

from datetime import datetime
from typing import Annotated, Any, cast
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, mapped_column, registry

from adapters.postgres.schema.sql import CODE_POINTS

NAMES = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
}
"""Naming convention of constraints; the service finds the field of a violation by the constraint's name."""


class IdentityBase(DeclarativeBase):
    """Base of identity's models; its ``metadata`` holds only their tables."""

    registry = registry(
        metadata=sa.MetaData(naming_convention=NAMES),
        type_annotation_map={
            str: sa.Text(collation=CODE_POINTS),
            list[str]: sa.ARRAY(sa.Text(collation=CODE_POINTS)),
            UUID: sa.Uuid(),
            datetime: sa.DateTime(timezone=True),
            dict[str, Any]: JSONB(),
        },
    )


def tables_of(*rows: type[IdentityBase]) -> tuple[sa.Table, ...]:
    """Return the tables of the models, for a package to add to ``SERVICE_TABLES``."""
    return tuple(cast("sa.Table", row.__table__) for row in rows)


RowId = Annotated[UUID, mapped_column(primary_key=True)]
TextKey = Annotated[str, mapped_column(primary_key=True)]
DefaultFalse = Annotated[bool, mapped_column(server_default=sa.false())]
DefaultTrue = Annotated[bool, mapped_column(server_default=sa.true())]
BigInt = Annotated[int, mapped_column(sa.BigInteger())]
BigIntKey = Annotated[int, mapped_column(sa.BigInteger(), primary_key=True, autoincrement=False)]
UserReference = Annotated[UUID, mapped_column(sa.ForeignKey("users.id", ondelete="CASCADE"))]
UserKey = Annotated[UUID, mapped_column(sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)]
