"""Accounts: registration, confirmation of addresses, and passwords."""

from domain.parts.part import Part
from domain.retention import DAY, RetentionRule

# An older mail that still waits would issue its link anew, so the newer link stays known as long as it does.
LINKS = RetentionRule(name="links of mails", when="a day after they expired", kept=DAY)
EMAIL_CHANGES = RetentionRule(name="changes of addresses", when="a day after they expired", kept=DAY)

ACCOUNT = Part(
    audit_actions={
        "user.registered": "Somebody made an account: by registration, a social login or an invitation.",
        "account.claimed": "The owner of an address took over an account that nobody had proved.",
        "email.confirmed": "An address was confirmed by the link of a mail.",
        "password.changed": "A user changed their password.",
        "password.change-refused": "A change gave a wrong current password.",
        "password.reset": "A password was set by the link of a mail.",
    },
    retention=(
        LINKS,
        EMAIL_CHANGES,
    ),
)
