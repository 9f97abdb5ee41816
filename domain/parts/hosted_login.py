"""Sign-in pages of the service. They pass a login to a registered application with a one-time code."""

from domain.parts.part import Part

HOSTED_LOGIN = Part(
    audit_actions={
        "code.exchanged": "A code of a sign-in page became a session of an application.",
        "code.refused": "Such a code was wrong, used or too old; a second use ends the session of the first.",
    },
)
