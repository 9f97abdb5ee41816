"""Service accounts, their API keys, and tokens of client credentials."""

from datetime import timedelta

from domain.parts.part import AdministrationArea, Columns, Part, permissions_on
from domain.retention import RetentionRule

# Retained so that the operator can investigate the actions of a key.
API_KEYS = RetentionRule(name="ended API keys", when="90 days after their end", kept=timedelta(days=90))

SERVICE_ACCOUNTS = Part(
    permissions=permissions_on("service-accounts"),
    audit_actions={
        "service-account.created": "A service account was created.",
        "service-account.changed": "A service account was changed.",
        "service-account.deleted": "A service account was deleted.",
        "key.created": "An API key was made.",
        "key.rotated": "An API key was replaced by a new one.",
        "key.ended": "An API key was ended.",
        "key.refused": "An API key was refused: it has ended, its account is off, or the network is none of its own.",
        "token.issued": "A service account got a token for one of its keys.",
    },
    areas=(AdministrationArea("service-accounts", "read:service-accounts"),),
    retention=(API_KEYS,),
    tables={
        "service_accounts": Columns(
            internal="tenant_id id name description is_active created_at created_by deleted_at"
        ),
        "service_account_roles": Columns(internal="tenant_id account_id role_id"),
        "api_keys": Columns(
            secret="hash",
            personal="last_used_address",
            internal=(
                "id tenant_id account_id name start permissions networks created_at created_by expires_at "
                "ended_at warned_at last_used_at"
            ),
        ),
    },
)
