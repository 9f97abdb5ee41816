"""Accounts: registration, address confirmation and passwords."""

from domain.parts.part import Columns, Part
from domain.retention import DAY, RetentionRule

# An older pending mail would issue its link again, so retain the newer link at least as long.
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
    tables={
        "users": Columns(
            secret="password_hash",
            personal="email email_key full_name phone_number profile_picture_url last_login_at",
            internal=(
                "id email_confirmed email_proved email_proved_at is_active must_change_password "
                "password_set_at created_at updated_at webauthn_handle"
            ),
        ),
        "one_time_tokens": Columns(
            secret="hash", personal="email_key", internal="user_id purpose number issued_at expires_at used_at"
        ),
    },
)
