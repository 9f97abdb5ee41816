"""What is kept only for a while.

The audit trail and the histories of rows are not among it: they stay.
"""

from datetime import timedelta
from enum import Enum

LONGEST_TOKEN = timedelta(hours=24)
"""No setting lets an access token live longer; one of before a setting was changed may still do."""

GIVEN_UP_MAIL = timedelta(days=30)
"""How long one that could not be sent is kept, for whoever looks."""


class RetentionRule(Enum):
    """Each with the time that counts for it."""

    ENDED_SESSIONS = "ended sessions"
    """Shown to nobody, and refreshed by nobody, from their end on."""

    OLD_SESSIONS = "expired sessions"
    """By their beginning: past the greatest age, the id of the session alone tells that it has expired."""

    FAILURES = "failed logins"
    """By the last try; a lock that stands keeps them."""

    NETWORKS = "networks of logins"
    """Those that somebody has logged in from, by the last try."""

    COUNTS = "revocation counts"
    """By when the last token that names them can have been issued."""

    SPENT_IDS = "spent ids of encrypted passwords"
    """By when what carried them ended."""

    LINKS = "links of mails"
    """By when they ended; while an older mail waits, what it would bring back stays known."""

    ANSWERS = "answers kept for repeated requests"
    """By when they were given."""

    MAILS = "mails given up"
    """By when they were given up."""
