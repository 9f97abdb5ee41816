"""Public API of Tenantry for projects.

Declarations (``entity``, ``ref``, ``unique``, …), rules on rows (``OtherRows``, ``where``), errors, tools for a
project's routes (``Rows``, ``rules``, ``needs``, …), and ``TenantryPlugin``. Names outside ``__all__`` may change
without notice.
"""

from typing import TYPE_CHECKING

from domain.entities.attachments.marks import attachment, attachments
from domain.entities.markers import (
    big,
    entity,
    guarded,
    help_text,
    index,
    label,
    links,
    many,
    member,
    mine,
    money,
    ref,
    through,
    unique,
    widget,
)
from domain.entities.query.query import Operator
from domain.entities.rules import OtherRows, where
from domain.entities.screens.choices import choice, choices
from domain.errors import (
    BadRequest,
    Conflict,
    FieldError,
    Forbidden,
    NotFound,
    UnprocessableEntity,
    ValidationError,
)
from domain.scope import Caller

if TYPE_CHECKING:
    from tenantry.endpoints import (
        ANY_TOKEN,
        ORDINARY,
        PUBLIC,
        TENANT_TOKEN,
        UNLIMITED,
        Client,
        DataResponse,
        EntityData,
        Limit,
        Policy,
        Rows,
        RowsPage,
        RowsTransaction,
        StoredRow,
        TenantDatabase,
        needs,
        requires,
        rules,
        super_admin,
    )
    from tenantry.plugin import EntitiesError, Settings, SettingsError, TenantryPlugin, read_settings

__all__ = [
    "ANY_TOKEN",
    "ORDINARY",
    "PUBLIC",
    "TENANT_TOKEN",
    "UNLIMITED",
    "BadRequest",
    "Caller",
    "Client",
    "Conflict",
    "DataResponse",
    "EntitiesError",
    "EntityData",
    "FieldError",
    "Forbidden",
    "Limit",
    "NotFound",
    "Operator",
    "OtherRows",
    "Policy",
    "Rows",
    "RowsPage",
    "RowsTransaction",
    "Settings",
    "SettingsError",
    "StoredRow",
    "TenantDatabase",
    "TenantryPlugin",
    "UnprocessableEntity",
    "ValidationError",
    "attachment",
    "attachments",
    "big",
    "choice",
    "choices",
    "entity",
    "guarded",
    "help_text",
    "index",
    "label",
    "links",
    "many",
    "member",
    "mine",
    "money",
    "needs",
    "read_settings",
    "ref",
    "requires",
    "rules",
    "super_admin",
    "through",
    "unique",
    "where",
    "widget",
]

_OF_PLUGIN = {"EntitiesError", "Settings", "SettingsError", "TenantryPlugin", "read_settings"}

# Litestar and the adapters cost half a second and 60 MB, so import them with the first name that needs them:
# spreadsheet processes and most commands import files that declare entities. Type checkers see the imports above and
# report missing names.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name in _OF_PLUGIN:
            from tenantry import plugin as module  # noqa: PLC0415  # loads only what is asked for
        else:
            from tenantry import endpoints as module  # noqa: PLC0415  # loads only what is asked for
        return getattr(module, name)
