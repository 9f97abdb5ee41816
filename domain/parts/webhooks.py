"""Webhooks: signed requests to URLs of a tenant about changes of its rows."""

from datetime import timedelta

from domain.parts.part import AdministrationArea, Columns, Part, permissions_on
from domain.retention import RetentionRule

DELIVERIES = RetentionRule(
    name="deliveries of webhooks", when="30 days after their event was found", kept=timedelta(days=30)
)

WEBHOOKS = Part(
    permissions=permissions_on("webhooks"),
    audit_actions={
        "webhook.created": "A webhook was created.",
        "webhook.changed": "A webhook was changed.",
        "webhook.deleted": "A webhook was deleted.",
        "webhook.secret-rotated": "A webhook received a new secret.",
        "webhook.disabled": "The service disabled a webhook, because its receiver is gone or fails for days.",
        "webhook.replayed": "Somebody had events of a webhook delivered again.",
    },
    areas=(AdministrationArea("webhooks", "read:webhooks"),),
    retention=(DELIVERIES,),
    tables={
        "webhooks": Columns(
            secret="sealed sealed_before",
            internal=(
                "tenant_id id service_account_id url host description events content signature order_by is_active "
                "before_until position shared_position replay_position replay_until replay_shared_position "
                "replay_shared_until created_at created_by disabled_at failing_since last_success_at last_status"
            ),
        ),
        "webhook_deliveries": Columns(
            internal=(
                "tenant_id webhook_id is_shared position id entity row_id event created_at state tries due_at "
                "leased_until last_status last_error duration_ms"
            )
        ),
    },
)
