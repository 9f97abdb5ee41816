"""Second factors: authenticator apps, passkeys and recovery codes."""

from domain.parts.part import Columns, Part

FACTORS = Part(
    audit_actions={
        "reauthenticated": "A user proved anew that it is them.",
        "reauthentication.refused": "Such a proof was wrong.",
        "factor.added": "A user set up a second factor or a passkey.",
        "factor.removed": "A user removed one.",
        "factor.used": "A second factor or a passkey was right.",
        "factor.refused": "A second factor was wrong.",
        "factor.cloned": "A passkey counted backwards: it may have been copied.",
        "factor.reset": "An administrator removed all factors of a user.",
        "factor.unproved": "By the first proof of an address, passkeys of before it became second factors at most.",
        "recovery-codes.made": "A user made ten new recovery codes.",
        "recovery-codes.used": "A recovery code was used.",
    },
    tables={
        "factors": Columns(
            secret="sealed",
            personal="name credential_id public_key aaguid last_used_at",
            internal=(
                "id user_id kind created_at last_step counter transports backup_eligible backed_up uv_initialized"
            ),
        ),
        "recovery_codes": Columns(secret="hash", internal="user_id used_at"),
    },
)
