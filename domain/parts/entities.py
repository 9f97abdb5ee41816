"""Rows of declared entities. Each entity's declaration names its own permissions."""

from domain.parts.part import AdministrationArea, Columns, Part
from domain.retention import DAY, KEPT_FOR, RetentionRule

ANSWERS = RetentionRule(
    name="answers kept for repeated requests", when="two days after the answer", kept=KEPT_FOR + DAY
)

ENTITIES = Part(
    audit_actions={
        "tenant-scope.{operation}": "A super-admin reached into the rows of another tenant, or of all.",
        # The target of both events is the user.
        "row.shared:{entity}:{row}:{level}": "Somebody shared a row with a user, or changed the level.",
        "row.unshared:{entity}:{row}": "Somebody removed a user's share of a row.",
        "file.linked:{purpose}:{row}": "Somebody made a link to a file, not to a thumbnail; only with a history.",
        "file.refused:{purpose}": "The function in FILES_SCANNER refused an uploaded file.",
    },
    areas=(
        AdministrationArea("audit", "read:audit-events"),
        AdministrationArea("applications", "read:applications"),
    ),
    retention=(ANSWERS,),
    tables={
        "kept_answers": Columns(personal="answer", internal="tenant_id user_id key fingerprint at"),
        "row_shares": Columns(internal="tenant_id user_id entity row_id level created_at created_by"),
        "files": Columns(
            personal="name created_by",
            internal="tenant_id id purpose type size sha256 width height sizes state since entity row_id created_at",
        ),
        "file_usage": Columns(internal="tenant_id bytes files"),
        "row_history": Columns(personal="by changes", internal="tenant_id entity row_id version action at"),
        "change_queue": Columns(
            personal="by subject data was", internal="number tenant_id entity row_id version action at"
        ),
        "changes": Columns(
            personal="by subject data was", internal="tenant_id position entity row_id version action at sequenced_at"
        ),
        "feed_heads": Columns(internal="tenant_id position"),
        "service_epoch": Columns(internal="epoch"),
    },
)
