"""Second factors: authenticator apps, passkeys and recovery codes."""

from domain.parts.part import Part

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
)
