"""Keys of stored files: made of identifiers only, never of text from a client."""

import re
from datetime import datetime
from uuid import UUID

_KEY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
_LONGEST = 512


def file_key(tenant_id: UUID, file_id: UUID, created_at: datetime, thumbnail: str | None = None) -> str:
    """Return the key of a file, or of one of its thumbnails: ``{tenant}/{yyyy}/{mm}/{file id}[.{thumbnail}]``."""
    key = f"{tenant_id}/{created_at:%Y/%m}/{file_id}"
    return key if thumbnail is None else f"{key}.{thumbnail}"


def ensure_key(key: str) -> str:
    """Return the key. Raises ValueError if it could name anything outside of the store."""
    if len(key) > _LONGEST or _KEY.fullmatch(key) is None:
        raise ValueError(f"{key[:_LONGEST]!r} is not a key of a stored file.")
    return key


def ensure_folder(folder: str) -> str:
    """Return the folder of keys, ``""`` for all keys. Raises ValueError like ``ensure_key``."""
    return ensure_key(folder) if folder else folder
