"""Every column that the service stores of its own, with its level of protection."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from adapters.postgres.schema.schema import metadata_for
from domain.parts.composition import RETENTION, TABLES
from domain.parts.part import Columns
from entrypoints.assembly.entities import load_registry
from tools.reference.markdown import code, codes, sections, table

INTRODUCTION = """\
What the tables of the service hold, column by column, and how each level is protected. Rows of declared entities are
the tenant's: whoever declares an entity knows what is in it, and marks with `guarded(…)` what not everybody may see
who reads the entity ([entities](../entities.md)). Everything else is in the table below."""

LEVELS = (
    (
        "secret",
        "opens accounts, sessions or sealed values",
        (
            "stored as a digest, or sealed with a key that is not in the database; in no answer, log line, history or "
            "export; shown once where a person has to take it over"
        ),
    ),
    (
        "personal",
        "says something about a person",
        (
            "answered to the person, and in their tenants to those who hold a permission for it; `no-store`; in no "
            "metric; in log lines ids and network addresses alone; removed or kept as said below"
        ),
    ),
    (
        "internal",
        "ids, names of roles, times, counters",
        "answered to those who hold a permission for it; never across tenants",
    ),
    ("public", "meant for everybody", "the public halves of keys"),
)

ALL_LEVELS = """\
Without a mail server, which is for development, mails are files, and the log names their recipients and links.

All levels: TLS on the way where the settings name it, row-level security for what belongs to a tenant, and no copy
outside PostgreSQL but in backups and in the client's own answers. Redis holds counters, ids and version numbers; an
address or a digest of an e-mail is part of a counter's name for as long as it counts."""

ENTITIES: Mapping[str, Columns] = MappingProxyType(
    {
        "applications": Columns(
            internal="id app_id name is_active allowed_tenant_ids required_permission redirect_urls created_at "
            "updated_at created_by updated_by is_deleted deleted_at deleted_by version deleted_with"
        ),
        "audit_events": Columns(
            personal="actor_id target_id address", internal="tenant_id id action request_id occurred_at"
        ),
    }
)
"""Columns of the entities that the service declares itself."""

COLUMNS: Mapping[str, Columns] = MappingProxyType({**TABLES, **ENTITIES})

KEPT = """\
Kept until somebody deletes them: accounts, memberships, roles, tenants and rows. The audit trail is kept for ever, or
for `AUDIT_RETENTION_DAYS` and until the month of an event is past them; histories of rows for ever, or for
`HISTORY_RETENTION_DAYS` in the same way."""


def page() -> str:
    retention = ((rule.name, rule.when) for rule in RETENTION)
    return sections(
        "# Data by level of protection",
        INTRODUCTION,
        "## Levels",
        table(("Level", "What it is", "How it is protected"), LEVELS),
        ALL_LEVELS,
        "## Columns",
        table(("Table", *(level for level, _, _ in LEVELS)), _rows()),
        "## Retention",
        "Housekeeping removes, about every hour, and `tenantry clean` at once:",
        table(("What", "When"), retention),
        KEPT,
    )


def stored() -> dict[str, set[str]]:
    """Columns of each table that the service has of its own."""
    tables = metadata_for(load_registry(())).sorted_tables
    return {found.name: {column.name for column in found.columns} for found in tables}


def levelled() -> Iterator[tuple[str, str]]:
    """Table and column of everything that has a level."""
    for name, columns in COLUMNS.items():
        yield from ((name, column) for columns_of_level in columns.levels.values() for column in columns_of_level)


def _rows() -> Iterator[tuple[str, ...]]:
    for name, columns in sorted(COLUMNS.items()):
        yield (code(name), *(codes(columns.levels[level]) for level, _, _ in LEVELS))
