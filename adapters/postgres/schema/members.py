"""The view ``members``: rows of the built-in entity of this name, of the memberships and their users.

The view reads with the rights of its caller (``security_invoker``), so row-level security applies.
"""

import sqlalchemy as sa

from adapters.postgres.schema.sql import CODE_POINTS

_TEXT = sa.Text(collation=CODE_POINTS)

MEMBERS = sa.Table(
    "members",
    sa.MetaData(),
    sa.Column("tenant_id", sa.Uuid(), nullable=False),
    sa.Column("id", sa.Uuid(), nullable=False),
    sa.Column("full_name", _TEXT, nullable=False),
    sa.Column("profile_picture_url", _TEXT),
    sa.Column("joined_at", sa.DateTime(timezone=True), nullable=False),
)
"""The view's columns. It is not in the schema's metadata, because it has neither keys nor indexes."""

KEY = ("memberships.tenant_id", "memberships.user_id")
"""Columns that a reference to a member refers to."""

_MEMBERSHIPS = sa.table("memberships", sa.column("tenant_id", sa.Uuid()), sa.column("user_id", sa.Uuid()))


def memberships(alias: str) -> sa.Subquery:
    """Return the memberships as rows with ``tenant_id`` and ``id``, for statements that lock them.

    A lock on the view would lock the user too, for all tenants.
    """
    columns = _MEMBERSHIPS.c.tenant_id, _MEMBERSHIPS.c.user_id.label("id")
    return sa.select(*columns).select_from(_MEMBERSHIPS).subquery(alias)
