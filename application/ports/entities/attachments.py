"""Contents of files: their store, and the detection of their types."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from domain.errors import ServiceUnavailable, UnprocessableEntity

PIECE = 256 * 1024
"""Maximum bytes of a piece that ``FileStore.open`` yields."""


class ObjectMissing(Exception):
    """The store has no object with this key."""


class StoreUnavailable(ServiceUnavailable):
    """The store cannot read or write now: it is unreachable, full or returns less than it should."""

    sentence = "The store of files cannot answer now: try again shortly."


class StoredObject(Struct, frozen=True):
    key: str
    size: int


class FileStore(Protocol):
    """Contents of files by the keys of ``domain/entities/attachments/keys.py``.

    Keys of another form raise ValueError. No key is the folder of another one. All methods raise StoreUnavailable.
    """

    async def put(self, key: str, path: Path, media_type: str) -> None:
        """Copy the file to the store, durably, in place of an object with this key.

        No reader ever sees a part of it. After an error, the key may have its previous object or the whole new one.
        """
        ...

    def open(
        self, key: str, start: int = 0, length: int | None = None
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open an object, or ``length`` of its bytes from ``start`` on, as pieces of at most ``PIECE`` bytes.

        ``start`` is 0 or before the object's end, and ``length`` is positive. Entering the context raises
        ObjectMissing. The iterator raises StoreUnavailable if the object ends before ``length`` bytes. Leaving the
        context stops the transfer.
        """
        ...

    async def delete(self, keys: Sequence[str]) -> None:
        """Delete the objects. Absent keys are not an error; after an error, some objects may be deleted."""
        ...

    async def link(self, key: str, *, lifetime: timedelta, media_type: str, disposition: str) -> str | None:
        """Return a signed URL from which a client reads the object with these headers, None if the store has no URLs.

        Does not check whether the object exists.
        """
        ...

    async def ensure_available(self) -> None:
        """Raise StoreUnavailable if the store cannot be read, or is known to accept no writes. Writes nothing."""
        ...

    def keys(self, folder: str) -> AsyncIterator[StoredObject]:
        """Yield all objects below a folder, such as ``{tenant}`` or ``{tenant}/2026``; all objects for ``""``."""
        ...


class Content(Struct, frozen=True):
    """Type of a file's content, with the width and height of an image in pixels, before any rotation."""

    type: str
    width: int | None = None
    height: int | None = None


class Contents(Protocol):
    """Types of files, found in their bytes outside the event loop and in bounded memory."""

    async def detect(self, path: Path, types: Sequence[str]) -> Content:
        """Return the first of the declared ``types`` that the content has; ``application/octet-stream`` only last.

        Names and headers of the upload play no part. Raises UnsupportedMediaType with the type that was found.
        """
        ...

    async def strip(self, path: Path, media_type: str) -> None:
        """Remove location, comments and other metadata from an image's file; other files stay as they are.

        Pixels, colours and orientation stay. Raises UnsupportedMediaType if the image is damaged.
        """
        ...


class ImageUnreadable(UnprocessableEntity):
    """The image cannot be decoded within the limits of memory and time."""

    sentence = "The image cannot be read: it is damaged, or needs too much memory."


class Images(Protocol):
    """Decoding of images, outside this process."""

    async def thumbnail(self, source: Path, target: Path, box: tuple[int, int]) -> None:
        """Write the image's first frame as WebP: upright, without metadata, within the box, and never enlarged.

        Raises ImageUnreadable, after which the target may have a part.
        """
        ...
