"""Logins by password and at social providers, and the sessions that they start."""

from domain.parts.part import Part

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
)
