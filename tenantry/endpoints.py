"""Names for a project's routes. ``tenantry`` imports this module late: import the names from ``tenantry``."""

from adapters.http.entities.own_routes import DataResponse, TenantDatabase
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
from application.entities.own_rows import Rows, RowsPage, StoredRow
from application.entities.own_transactions import RowsTransaction
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
    "RowsTransaction",
    "StoredRow",
    "TenantDatabase",
    "needs",
    "requires",
    "rules",
    "super_admin",
]
