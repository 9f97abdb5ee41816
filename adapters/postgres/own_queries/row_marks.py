"""Marks of the ORM classes of entities."""

from sqlalchemy.orm import Mapped, mapped_column


class EntityRow:
    """Marks the ORM classes of entities."""


class SoftDeletedRow(EntityRow):
    """Marks ORM classes with soft delete, so that sessions hide their deleted rows."""

    is_deleted: Mapped[bool] = mapped_column()
