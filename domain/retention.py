"""Data with an end: what housekeeping removes and which time counts for it.

Histories of rows and the audit trail are kept for ever, unless the operator sets a retention.
"""

from datetime import timedelta
from enum import Enum

# A token issued before a setting was shortened lives on, so housekeeping uses this bound and not the setting.
LONGEST_TOKEN = timedelta(hours=24)
"""Greatest lifetime that settings accept for an access token."""

GIVEN_UP_MAIL = timedelta(days=30)
"""How long mails that could not be sent are kept for inspection."""


ENDED_KEYS = timedelta(days=90)
"""How long keys are kept after their end, for those who look into what a key did."""

JOIN_REQUEST = timedelta(days=90)
"""How long a request to join is kept after its end, or without one."""

FORMER_ADDRESS = timedelta(days=730)
"""How long the address of a former member is known: until mail to somebody who left is read by nobody any more."""

ENDED_INVITATION = timedelta(days=90)
"""How long an invitation is listed after its end."""


class DatedRecords(Enum):
    """Records that are only added to, in the order of time: past an age that the operator may set, they are deleted."""

    EVENTS = "events of the audit trail"
    """Time at which the event occurred."""

    HISTORIES = "lines of histories"
    """Time at which the version was made."""


class RetentionRule(Enum):
    """Kinds of data that are removed by age, each with the time that counts for it."""

    ENDED_SESSIONS = "ended sessions"
    """Time of their end; nothing shows or refreshes an ended session."""

    OLD_SESSIONS = "expired sessions"
    """Time of their start; for an older session the id alone tells that it has expired."""

    FAILURES = "failed logins"
    """Time of the last attempt; a lock that lasts keeps them."""

    NETWORKS = "networks of logins"
    """Networks with a successful login, by the time of the last attempt."""

    VERSIONS = "token versions"
    """Time when the last token that carries them can have been issued."""

    USED_NONCES = "used nonces of encrypted passwords"
    """Time when the encrypted password with that id expired."""

    # An older mail that still waits would issue its link anew, so the newer link stays known as long as it does.
    LINKS = "links of mails"
    """Time when the link expired."""

    INVITATIONS = "invitations"
    """Time when the invitation ended, or expired."""

    JOIN_REQUESTS = "requests to join"
    """Time when the request ended, or was made."""

    FORMER_ADDRESSES = "digests of former members' addresses"
    """Time when the last membership ended."""

    EMAIL_CHANGES = "changes of addresses"
    """Time when the link expired."""

    ANSWERS = "answers kept for repeated requests"
    """Time when the response was given."""

    API_KEYS = "ended API keys"
    """Time of their end, by revocation, rotation or expiry."""

    MAILS = "mails given up"
    """Time when they were given up."""
