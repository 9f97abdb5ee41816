"""Cursors of the feed: the epoch of the service, and a position in the tenant's and in the shared stream.

A cursor names no tenant, so one of another tenant reveals nothing.
"""

import binascii
import re
from base64 import b64decode, urlsafe_b64encode
from uuid import UUID

from msgspec import Struct

from domain.errors import BadRequest

LONGEST = 120
"""Maximum characters of a cursor."""
_CONTENT = re.compile(rb"([0-9a-f]{8})\.(0|[1-9][0-9]{0,18})\.(0|[1-9][0-9]{0,18})")


class FeedCursor(Struct, frozen=True):
    """Positions of the last entries that a reader has seen; ``epoch`` are 8 digits of the service's epoch."""

    epoch: str
    own: int
    shared: int


def short_epoch(epoch: UUID) -> str:
    return epoch.hex[:8]


def write_feed_cursor(cursor: FeedCursor) -> str:
    return urlsafe_b64encode(f"{cursor.epoch}.{cursor.own}.{cursor.shared}".encode()).rstrip(b"=").decode()


def read_feed_cursor(text: str) -> FeedCursor:
    """Raises BadRequest for any other text than ``write_feed_cursor`` returns."""
    if len(text) <= LONGEST:
        try:
            content = _CONTENT.fullmatch(b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True))
        except (ValueError, binascii.Error):
            content = None
        if content is not None:
            cursor = FeedCursor(content[1].decode(), int(content[2]), int(content[3]))
            # Base64 has several texts for some bytes.
            if write_feed_cursor(cursor) == text:
                return cursor
    raise BadRequest("The cursor is not valid: use the cursor of a response or of a stream.")
