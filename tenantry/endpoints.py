"""Names for routes of a project, which ``tenantry`` hands on when they are asked for: import them from there."""

from adapters.http.entities.own_routes import TenantDatabase
from adapters.http.entities.own_rows import DataResponse, Rows, RowsPage, StoredRow
from adapters.http.request.responses import EntityData
from adapters.http.request.rules import (
    ANY_TOKEN,
    ORDINARY,
    PUBLIC,
    TENANT_TOKEN,
    UNLIMITED,
    Policy,
    needs,
    requires,
    rules,
    super_admin,
)
from domain.limits import Limit
from domain.scope import Client

__all__ = [
    "ANY_TOKEN",
    "ORDINARY",
    "PUBLIC",
    "TENANT_TOKEN",
    "UNLIMITED",
    "Client",
    "DataResponse",
    "EntityData",
    "Limit",
    "Policy",
    "Rows",
    "RowsPage",
    "StoredRow",
    "TenantDatabase",
    "needs",
    "requires",
    "rules",
    "super_admin",
]
