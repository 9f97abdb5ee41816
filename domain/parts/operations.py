"""State of the whole service, and refused operations."""

from datetime import timedelta

from domain.parts.part import AdministrationArea, Columns, Part
from domain.retention import RetentionRule

READ_SYSTEM = "read:system"
"""Super-admins' permission to see the state of the whole service."""

# Retained so that the operator can inspect the mails.
MAILS = RetentionRule(name="mails given up", when="30 days after they were given up", kept=timedelta(days=30))

OPERATIONS = Part(
    permissions=(READ_SYSTEM,),
    audit_actions={
        "{operation}.refused": "An operation of administration was refused with 403; once a minute for each caller.",
        "{operation}.limited": "A rate limit refused an operation of administration; once a minute for each caller.",
    },
    areas=(AdministrationArea("system", READ_SYSTEM, super_admin=True),),
    retention=(MAILS,),
    tables={
        "outbox": Columns(
            personal="recipient name address about",
            internal="id number kind at due_at tries given_up_at why tried_again_at language",
        ),
        "revocation_counts": Columns(internal="subject count raised_at ended_at"),
        "signing_keys": Columns(secret="sealed", internal="active_from purpose is_first", public="kid public"),
    },
)
