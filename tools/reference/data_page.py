"""Every column that the service stores of its own, with its level of protection."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from adapters.postgres.schema.schema import metadata_for
from domain.parts.composition import RETENTION
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

SECRET: Mapping[str, str] = MappingProxyType(
    {
        "api_keys": "hash",
        "email_changes": "hash",
        "factors": "sealed",
        "invitations": "hash",
        "one_time_tokens": "hash",
        "recovery_codes": "hash",
        "signing_keys": "sealed",
        "users": "password_hash",
    }
)
PERSONAL: Mapping[str, str] = MappingProxyType(
    {
        "api_keys": "last_used_address",
        "audit_events": "actor_id target_id address",
        "email_changes": "email email_key",
        "factors": "name credential_id public_key aaguid last_used_at",
        "former_addresses": "digest",
        "invitations": "email email_key",
        "kept_answers": "answer",
        "login_attempts": "email_key network",
        "one_time_tokens": "email_key",
        "outbox": "recipient name address about",
        "row_history": "by changes",
        "sessions": "address device",
        "social_identities": "provider subject",
        "users": "email email_key full_name phone_number profile_picture_url last_login_at",
    }
)
PUBLIC: Mapping[str, str] = MappingProxyType({"signing_keys": "kid public"})
INTERNAL: Mapping[str, str] = MappingProxyType(
    {
        "api_keys": "id tenant_id account_id name start permissions networks created_at created_by expires_at ended_at "
        "warned_at last_used_at",
        "applications": "id app_id name is_active allowed_tenant_ids required_permission redirect_urls created_at "
        "updated_at created_by updated_by is_deleted deleted_at deleted_by version deleted_with",
        "audit_events": "tenant_id id action request_id occurred_at",
        "former_addresses": "tenant_id marked_at",
        "former_members": "tenant_id user_id",
        "join_requests": "tenant_id user_id domain status created_at ended_at ended_by",
        "tenant_domains": "tenant_id domain mode role_ids state proof set_by created_at checked_at",
        "email_changes": "user_id requested_at expires_at mailed_at",
        "factors": "id user_id kind created_at last_step counter transports backup_eligible backed_up uv_initialized",
        "invitations": "tenant_id id role_ids invited_by created_at expires_at status ended_at accepted_by mailed_at",
        "kept_answers": "tenant_id user_id key fingerprint at",
        "login_attempts": "failures locks_at locks locked_until known_at tried_at",
        "membership_roles": "tenant_id user_id role_id",
        "memberships": "tenant_id user_id is_default joined_at is_owner sessions_ended_at",
        "one_time_tokens": "user_id purpose number issued_at expires_at used_at",
        "outbox": "id number kind at due_at tries given_up_at why tried_again_at language",
        "permissions": "id name description category",
        "recovery_codes": "user_id used_at",
        "revocation_counts": "subject count raised_at ended_at",
        "roles": "id tenant_id name description permissions",
        "row_history": "tenant_id entity row_id version action at",
        "service_account_roles": "tenant_id account_id role_id",
        "service_accounts": "tenant_id id name description is_active created_at created_by deleted_at",
        "sessions": "id user_id tenant_id counter created_at rotated_at ended_at app_id methods authenticated_at "
        "is_first_login",
        "signing_keys": "active_from purpose is_first",
        "social_identities": "user_id linked_at",
        "spent_ids": "id expires_at",
        "tenants": "id name identifier domain is_active created_at settings deleted_at",
        "user_roles": "user_id role_id",
        "users": "id email_confirmed email_proved email_proved_at is_active must_change_password password_set_at "
        "created_at updated_at webauthn_handle",
    }
)
BY_LEVEL = (("secret", SECRET), ("personal", PERSONAL), ("internal", INTERNAL), ("public", PUBLIC))

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
        table(("Table", *(level for level, _ in BY_LEVEL)), _rows()),
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
    for _, columns in BY_LEVEL:
        for name, words in columns.items():
            yield from ((name, column) for column in words.split())


def _rows() -> Iterator[tuple[str, ...]]:
    for name in sorted(stored()):
        yield (code(name), *(codes(columns.get(name, "").split()) for _, columns in BY_LEVEL))
