"""Child process that makes one thumbnail: ``python -m MODULE SOURCE TARGET WIDTH HEIGHT``, both files as descriptors.

It ends with ``UNREADABLE`` if the image cannot be decoded within the limits.
"""

import os
import resource
import sys
import warnings
from contextlib import suppress
from typing import BinaryIO

from PIL import GifImagePlugin, Image, JpegImagePlugin, PngImagePlugin, WebPImagePlugin

from adapters.images import UNREADABLE

MOST_SPACE = 512 * 1024 * 1024
MOST_SECONDS = 5
MOST_PIXELS = 50_000_000
_NICENESS = 5  # requests have priority
_QUALITY = 80
_ORIENTATION = 0x0112
_TURNED = {
    2: [Image.Transpose.FLIP_LEFT_RIGHT],
    3: [Image.Transpose.ROTATE_180],
    4: [Image.Transpose.FLIP_TOP_BOTTOM],
    5: [Image.Transpose.TRANSPOSE],
    6: [Image.Transpose.ROTATE_270],
    7: [Image.Transpose.TRANSVERSE],
    8: [Image.Transpose.ROTATE_90],
}
"""Operations that undo each orientation of EXIF."""
# Importing a plugin registers its format; other plugins are not imported.
_FORMATS = tuple(
    plugin.format
    for plugin in (
        GifImagePlugin.GifImageFile,
        JpegImagePlugin.JpegImageFile,
        PngImagePlugin.PngImageFile,
        WebPImagePlugin.WebPImageFile,
    )
)


def main() -> None:
    source, target, width, height = map(int, sys.argv[1:])
    os.nice(_NICENESS)
    limit()
    try:
        with open(source, "rb") as file, open(target, "wb") as made:  # noqa: PTH123  # descriptors have no path
            shrink(file, made, (width, height))
    # Decoders raise errors of many types for damaged files.
    except (Exception, MemoryError):  # noqa: BLE001  # the status is the whole answer
        sys.exit(UNREADABLE)


def limit() -> None:
    """Limit this process, so that a hostile image ends it and nothing else."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_SPACE, MOST_SPACE))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    Image.MAX_IMAGE_PIXELS = MOST_PIXELS
    warnings.simplefilter("error", Image.DecompressionBombWarning)


def shrink(file: BinaryIO, made: BinaryIO, box: tuple[int, int]) -> None:
    """Write the first frame as WebP without metadata: upright, within the box, and never enlarged."""
    with Image.open(file, formats=_FORMATS) as image:
        orientation = _orientation(image)
        size = box[::-1] if orientation in (5, 6, 7, 8) else box
        # A palette has no colours between its own. Convert other modes later, when the image is small.
        small: Image.Image = image.convert("RGBA") if image.mode in ("P", "PA", "1") else image
        small.thumbnail(size, Image.Resampling.LANCZOS, reducing_gap=2.0)
        is_opaque = small.mode in ("RGB", "L", "CMYK", "YCbCr", "I", "I;16", "F") and "transparency" not in small.info
        small = small.convert("RGB" if is_opaque else "RGBA")
        for turn in _TURNED.get(orientation, ()):
            small = small.transpose(turn)
        small.info.clear()
        small.save(made, "WEBP", quality=_QUALITY, method=4)


def _orientation(image: Image.Image) -> int:
    found: object = 1
    with suppress(Exception):  # a damaged EXIF block must not hide the image
        found = image.getexif().get(_ORIENTATION)
    return found if isinstance(found, int) else 1


if __name__ == "__main__":
    main()
