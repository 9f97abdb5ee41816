"""Fields that the server fills in: id, tenant, audit, soft delete and version."""

from datetime import datetime
from typing import Annotated, Union
from uuid import UUID

from msgspec import Meta

from domain.entities.declaration import FieldModel, Kind


def _server_field(name: str, wire: str, kind: Kind, checked: object, nullable: bool = False) -> FieldModel:
    return FieldModel(name=name, wire=wire, kind=kind, type=checked, nullable=nullable, server_owned=True)


_TIME = Annotated[datetime, Meta(tz=True)]
ID = _server_field("id", "id", Kind.UUID, UUID)
TENANT = _server_field("tenant_id", "tenantId", Kind.UUID, UUID)
AUDIT = (
    _server_field("created_at", "createdAt", Kind.TIMESTAMP, _TIME),
    _server_field("updated_at", "updatedAt", Kind.TIMESTAMP, _TIME),
    _server_field("created_by", "createdBy", Kind.UUID, UUID | None, nullable=True),
    _server_field("updated_by", "updatedBy", Kind.UUID, UUID | None, nullable=True),
)
SOFT_DELETE = (
    _server_field("is_deleted", "isDeleted", Kind.BOOLEAN, bool),
    _server_field("deleted_at", "deletedAt", Kind.TIMESTAMP, Union[_TIME, None], nullable=True),
    _server_field("deleted_by", "deletedBy", Kind.UUID, UUID | None, nullable=True),
)
VERSION = _server_field("version", "version", Kind.INTEGER, int)
SERVER_OWNED = (ID, TENANT, *AUDIT, *SOFT_DELETE, VERSION)
"""Fields that the server fills in; in a body they are ignored, so that a row that was read can be sent back."""
