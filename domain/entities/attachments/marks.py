"""Markers of fields that hold files: ``attachment`` and ``attachments``."""

from collections.abc import Sequence

from msgspec import Struct

FILES = "files"
"""Table of the files, and the target of the fields that hold them."""
MOST_FILES = 100
"""Largest ``limit``: each response contains the ids of all files of its rows."""


class Attachment(Struct, frozen=True, kw_only=True):
    """Rules for the files of a field: media ``types``, and the maximum size of each file in bytes.

    ``limit`` is the maximum number of files, None for a field with a single file.
    """

    types: tuple[str, ...]
    max_bytes: int
    limit: int | None = None


def attachment(types: Sequence[str], max_bytes: int) -> Attachment:
    """Declare a field with a file: ``photo_id: Annotated[UUID | None, attachment(["image/png"], 5_000_000)] = None``.

    The service accepts content of the media ``types`` only, and at most ``max_bytes`` of it.
    """
    return Attachment(types=_listed(types), max_bytes=max_bytes)


def attachments(types: Sequence[str], max_bytes: int, *, limit: int = 20) -> Attachment:
    """Declare a field with files: ``paper_ids: Annotated[list[UUID], attachments(["application/pdf"], 10**7)] = []``.

    A row has at most ``limit`` of them, in the order of the list; each may have ``max_bytes``.
    """
    return Attachment(types=_listed(types), max_bytes=max_bytes, limit=limit)


def _listed(types: Sequence[str]) -> tuple[str, ...]:
    # Do not check types here: an error during the import would hide all other errors.
    return (types,) if isinstance(types, str) else tuple(types)
