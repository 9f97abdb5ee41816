"""A user's own account: sessions, profile, address, linked identities, export and deletion."""

from domain.parts.part import Columns, Part

SELF_SERVICE = Part(
    audit_actions={
        "account.deleted": "A user deleted their own account.",
        "email.change-requested": "A user asked for another address; the link went there, and a notice to the old one.",
        "email.changed": "A user changed their address by the link of that mail.",
        "identity.unlinked": "A user removed the link to an account at a social provider.",
    },
    tables={
        "email_changes": Columns(
            secret="hash", personal="email email_key", internal="user_id requested_at expires_at mailed_at"
        ),
    },
)
