"""All parts of the service, and the lists of their data."""

from collections.abc import Mapping
from types import MappingProxyType

from domain.parts.account import ACCOUNT
from domain.parts.administration import ADMINISTRATION
from domain.parts.entities import ENTITIES
from domain.parts.factors import FACTORS
from domain.parts.hosted_login import HOSTED_LOGIN
from domain.parts.joining import JOINING
from domain.parts.login import LOGIN
from domain.parts.operations import OPERATIONS
from domain.parts.part import AdministrationArea, Columns, Part
from domain.parts.self_service import SELF_SERVICE
from domain.parts.service_accounts import SERVICE_ACCOUNTS
from domain.parts.webhooks import WEBHOOKS
from domain.retention import RetentionRule
from domain.scope import Permission, registered

PARTS: tuple[Part, ...] = (
    ACCOUNT,
    LOGIN,
    FACTORS,
    HOSTED_LOGIN,
    SELF_SERVICE,
    ADMINISTRATION,
    JOINING,
    SERVICE_ACCOUNTS,
    ENTITIES,
    WEBHOOKS,
    OPERATIONS,
)

OWN_PERMISSIONS: tuple[Permission, ...] = tuple(
    registered(name, "administration") for part in PARTS for name in part.permissions
)
"""Permissions that the service's endpoints require."""

AREAS: tuple[AdministrationArea, ...] = tuple(area for part in PARTS for area in part.areas)
"""Areas of administration."""

AUDIT_ACTIONS: Mapping[str, str] = MappingProxyType(
    {action: meaning for part in PARTS for action, meaning in part.audit_actions.items()}
)
"""Meaning of each action of the audit trail. A test compares this list with the events that the use cases record."""

RETENTION: tuple[RetentionRule, ...] = tuple(rule for part in PARTS for rule in part.retention)
"""Removal rules of expiring data."""

TABLES: Mapping[str, Columns] = MappingProxyType(
    {name: columns for part in PARTS for name, columns in part.tables.items()}
)
"""The service's own tables. Tests compare them with the schema, column by column."""
