"""Markers of fields that hold files: ``attachment`` and ``attachments``."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

FILES = "files"
"""Table of the files, and the target of the fields that hold them."""
MOST_FILES = 100
"""Largest ``limit``: each response contains the ids of all files of its rows."""
LARGEST_THUMBNAIL, MOST_THUMBNAILS = 2_048, 10
"""Largest width and height of a thumbnail in pixels, and largest number of thumbnails of a file."""


class Attachment(Struct, frozen=True, kw_only=True):
    """Rules for the files of a field: media ``types``, and the maximum size of each file in bytes.

    ``limit`` is the maximum number of files, None for a field with a single file. ``thumbnails`` are boxes in pixels
    by name. ``strip_metadata`` stores images without their metadata.
    """

    types: tuple[str, ...]
    max_bytes: int
    limit: int | None = None
    thumbnails: tuple[tuple[str, tuple[int, int]], ...] = ()
    strip_metadata: bool = False

    @property
    def sizes(self) -> dict[str, tuple[int, int]]:
        return dict(self.thumbnails)


def attachment(
    types: Sequence[str],
    max_bytes: int,
    *,
    thumbnails: Mapping[str, tuple[int, int]] | None = None,
    strip_metadata: bool = False,
) -> Attachment:
    """Declare a field with a file: ``photo_id: Annotated[UUID | None, attachment(["image/png"], 5_000_000)] = None``.

    The service accepts content of the media ``types`` only, and at most ``max_bytes`` of it. ``thumbnails`` are widths
    and heights by name, ``{"small": (128, 128)}``. ``strip_metadata`` removes the location and the camera of photos.
    """
    return Attachment(
        types=_listed(types), max_bytes=max_bytes, thumbnails=_boxes(thumbnails), strip_metadata=strip_metadata
    )


def attachments(
    types: Sequence[str],
    max_bytes: int,
    *,
    limit: int = 20,
    thumbnails: Mapping[str, tuple[int, int]] | None = None,
    strip_metadata: bool = False,
) -> Attachment:
    """Declare a field with files: ``paper_ids: Annotated[list[UUID], attachments(["application/pdf"], 10**7)] = []``.

    A row has at most ``limit`` of them, in the order of the list; each may have ``max_bytes``.
    """
    return Attachment(
        types=_listed(types),
        max_bytes=max_bytes,
        limit=limit,
        thumbnails=_boxes(thumbnails),
        strip_metadata=strip_metadata,
    )


def _boxes(thumbnails: Mapping[str, tuple[int, int]] | None) -> tuple[tuple[str, tuple[int, int]], ...]:
    return tuple((thumbnails or {}).items())


def _listed(types: Sequence[str]) -> tuple[str, ...]:
    # Do not check types here: an error during the import would hide all other errors.
    return (types,) if isinstance(types, str) else tuple(types)
