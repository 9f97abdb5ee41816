"""Logins with a password or at a social provider, and the resulting sessions."""

from datetime import timedelta

from domain.lockout import FAILURES_FORGOTTEN, NETWORK_FORGOTTEN
from domain.parts.part import Columns, Part
from domain.retention import DAY, RetentionRule

# Tokens issued before a setting was shortened live on, so housekeeping uses this bound.
LONGEST_TOKEN = timedelta(hours=24)
"""Maximum lifetime of an access token in the settings."""

# Nothing shows or refreshes an ended session.
ENDED_SESSIONS = RetentionRule(name="ended sessions", when="a day after their end", kept=DAY)
# For an older session, the service reads the age from its id and reports that the session has expired.
OLD_SESSIONS = RetentionRule(
    name="expired sessions", when="`SESSION_DAYS` and a day after their start", kept=DAY, outlasts_sessions=True
)
# An active lock needs the failed logins that caused it.
FAILURES = RetentionRule(name="failed logins", when="8 days after the last attempt", kept=FAILURES_FORGOTTEN + DAY)
NETWORKS = RetentionRule(name="networks of logins", when="90 days after the last login", kept=NETWORK_FORGOTTEN)
TOKEN_VERSIONS = RetentionRule(
    name="token versions",
    when="two days after the last token with them can have been issued",
    kept=LONGEST_TOKEN + DAY,
)
USED_NONCES = RetentionRule(
    name="used nonces of encrypted passwords", when="a day after the encrypted password expired", kept=DAY
)

LOGIN = Part(
    audit_actions={
        "login.succeeded": "A login is complete, by whatever way, and a session exists.",
        "login.challenged": "The password or identity was right, and a second factor is asked for.",
        "login.failed": "A login was refused: unknown address, wrong password or passkey, locked or disabled account.",
        "logout": "A user ended all of their sessions.",
        "session.ended": "A user, or whoever may, ended one session.",
        "session.stolen": "A refresh token, or a code of a sign-in page, came a second time: its session is ended.",
        "tenant.switched": "A session went on to another tenant.",
    },
    retention=(
        ENDED_SESSIONS,
        OLD_SESSIONS,
        FAILURES,
        NETWORKS,
        TOKEN_VERSIONS,
        USED_NONCES,
    ),
    tables={
        "sessions": Columns(
            personal="address device",
            internal=(
                "id user_id tenant_id counter created_at rotated_at ended_at app_id methods "
                "authenticated_at is_first_login"
            ),
        ),
        "login_attempts": Columns(
            personal="email_key network", internal="failures locks_at locks locked_until known_at tried_at"
        ),
        "social_identities": Columns(personal="provider subject", internal="user_id linked_at"),
        "spent_ids": Columns(internal="id expires_at"),
    },
)
