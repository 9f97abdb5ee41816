"""Places in the log that a replay names: timestamps, and cursors of the feed."""

import re
from base64 import urlsafe_b64decode
from binascii import Error as NotBase64
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from domain.moments import NotAMoment, read_moment

_CURSOR = re.compile(r"([0-9a-f]{8})\.(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})")


class CursorPlace(Struct, frozen=True):
    """Positions of both streams, in the epoch that begins with these digits."""

    epoch: str
    own: int
    shared: int

    def is_of(self, epoch: UUID) -> bool:
        return epoch.hex.startswith(self.epoch)


def read_place(text: str) -> datetime | CursorPlace:
    """Read a timestamp, or a cursor: base64url of ``epoch.position.sharedPosition``. Raises ValueError."""
    try:
        return read_moment(text)[0]
    except NotAMoment:
        pass
    try:
        found = _CURSOR.fullmatch(urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("ascii"))
    except (NotBase64, ValueError):
        found = None
    if found is None:
        raise ValueError("must be a timestamp with a zone, or a cursor of the feed")
    return CursorPlace(found[1], int(found[2]), int(found[3]))
