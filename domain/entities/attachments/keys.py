"""Keys of stored files: made of identifiers only, never of text from a client."""

import re
from datetime import datetime
from uuid import UUID

_KEY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_OWN = re.compile(rf"({_UUID}/[0-9]{{4}}/(?:0[1-9]|1[0-2])/{_UUID})(?:\.[a-z][a-z0-9_-]*)?")
_LONGEST = 512


def file_key(tenant_id: UUID, file_id: UUID, created_at: datetime, thumbnail: str | None = None) -> str:
    """Return the key of a file, or of one of its thumbnails: ``{tenant}/{yyyy}/{mm}/{file id}[.{thumbnail}]``."""
    key = f"{tenant_id}/{created_at:%Y/%m}/{file_id}"
    return key if thumbnail is None else f"{key}.{thumbnail}"


def key_of_file(key: str) -> str | None:
    """Return the key of the file that the key or its thumbnail belongs to; None if ``file_key`` cannot make the key."""
    found = _OWN.fullmatch(key)
    return None if found is None else found[1]


def ensure_key(key: str) -> str:
    """Return the key. Raises ValueError if it could name anything outside of the store."""
    if len(key) > _LONGEST or _KEY.fullmatch(key) is None:
        raise ValueError(f"{key[:_LONGEST]!r} is not a key of a stored file.")
    return key


def ensure_folder(folder: str) -> str:
    """Return the folder of keys, ``""`` for all keys. Raises ValueError like ``ensure_key``."""
    return ensure_key(folder) if folder else folder
