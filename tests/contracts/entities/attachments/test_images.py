"""Thumbnails: upright, small, without metadata, and unable to harm the service."""

import io
import random
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image

from adapters.images.child import MOST_SPACE
from adapters.images.processes import ProcessImages
from application.ports.entities.attachments import Images, ImageUnreadable
from tests.adapters.contents.true_files import image
from tests.examples import examples

BOX = (128, 96)
LOCATION = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"
"""EXIF with the orientation 6: the camera was turned to the left."""


@pytest.fixture
def images() -> Images:
    return ProcessImages()


async def small(images: Images, folder: Path, content: bytes, box: tuple[int, int] = BOX) -> Image.Image:
    (folder / "source").write_bytes(content)
    await images.thumbnail(folder / "source", folder / "target", box)
    with Image.open(folder / "target") as found:
        assert found.format == "WEBP"
        return found.copy()


async def is_unreadable(images: Images, folder: Path, content: bytes) -> bool:
    try:
        await small(images, folder, content)
    except ImageUnreadable:
        return True
    return False


def saved(picture: Image.Image, form: str, **options: object) -> bytes:
    made = io.BytesIO()
    picture.save(made, form, **options)
    return made.getvalue()


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
@pytest.mark.parametrize(
    ("size", "expected"),
    [((640, 480), (128, 96)), ((480, 640), (72, 96)), ((1000, 10), (128, 1)), ((20, 10), (20, 10)), ((1, 1), (1, 1))],
)
async def test_a_thumbnail_fits_the_box_and_is_never_larger(
    images: Images, tmp_path: Path, form: str, size: tuple[int, int], expected: tuple[int, int]
) -> None:
    assert (await small(images, tmp_path, image(form, size))).size == expected


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16", "CMYK"])
async def test_every_mode_of_colours_becomes_a_thumbnail(images: Images, tmp_path: Path, mode: str) -> None:
    picture = Image.new(mode, (300, 200))
    content = saved(picture, "JPEG" if mode == "CMYK" else "PNG")
    assert (await small(images, tmp_path, content)).size == (128, 85)


async def test_a_thumbnail_is_upright_and_has_no_metadata(images: Images, tmp_path: Path) -> None:
    picture = Image.new("RGB", (400, 200), "red")
    picture.paste("blue", (0, 0, 200, 200))
    found = await small(images, tmp_path, saved(picture, "JPEG", exif=LOCATION, icc_profile=bytes(128)))
    assert found.size == (48, 96)
    # The left half of the camera's picture is the upper one.
    upper, lower = (found.convert("RGB").getpixel((24, y)) for y in (10, 85))
    assert isinstance(upper, tuple)
    assert isinstance(lower, tuple)
    assert (upper[2] > 200, lower[0] > 200) == (True, True)
    content = (tmp_path / "target").read_bytes()
    assert not any(chunk in content for chunk in (b"EXIF", b"ICCP", b"XMP "))


async def test_transparent_pixels_stay_transparent(images: Images, tmp_path: Path) -> None:
    found = await small(images, tmp_path, saved(Image.new("RGBA", (300, 300), (9, 9, 9, 0)), "PNG"))
    assert found.convert("RGBA").getpixel((5, 5))[3] == 0  # type: ignore[index]


async def test_an_animation_is_its_first_frame(images: Images, tmp_path: Path) -> None:
    frames = [Image.new("RGB", (200, 200), colour) for colour in ("red", "blue", "green")]
    for form in ("GIF", "WEBP"):
        content = saved(frames[0], form, save_all=True, append_images=frames[1:])
        red, _, blue = (await small(images, tmp_path, content)).convert("RGB").getpixel((50, 50))  # type: ignore[misc]
        assert (red > 200, blue < 50) == (True, True)


def png(width: int, height: int, rows: bytes = b"") -> bytes:
    """A PNG of any size with few bytes: 8 bits of grey."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def gif(frames: int) -> bytes:
    frame = b"!\xf9\4\0\0\0\0\0" + b",\0\0\0\0\1\0\1\0\0" + b"\2\2D\1\0"
    return b"GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff" + frames * frame + b";"


async def test_images_that_cannot_be_decoded_are_unreadable(images: Images, tmp_path: Path) -> None:
    jpeg = image("JPEG", (600, 400))
    for content in (
        b"",
        b"GIF89a",
        png(65_535, 65_535),
        png(10_000, 5_001, bytes(10)),
        jpeg[: len(jpeg) // 3],
        jpeg[:300] + b"\xff\xd8" + jpeg[300:320],
        saved(Image.new("RGB", (9, 9)), "BMP"),
        saved(Image.new("RGB", (9, 9)), "TIFF"),
    ):
        assert await is_unreadable(images, tmp_path, content)


async def test_odd_images_become_thumbnails(images: Images, tmp_path: Path) -> None:
    for content in (
        gif(10_000),
        saved(Image.new("RGB", (300, 200)), "JPEG", exif=b"Exif\0\0" + b"\xff" * 60_000),
        png(10_000, 5_000, bytes(10_001 * 5_000)),
    ):
        assert not await is_unreadable(images, tmp_path, content)


async def test_the_largest_image_stays_within_the_memory_of_the_process(images: Images, tmp_path: Path) -> None:
    """The child ends at ``MOST_SPACE``; 50 million pixels of a palette need most of it."""
    picture = Image.new("P", (10_000, 5_000))
    assert (await small(images, tmp_path, saved(picture, "GIF"))).size == (128, 64)
    assert MOST_SPACE == 512 * 2**20


@pytest.mark.drawn
async def test_damaged_images_are_shrunk_or_unreadable(images: Images, tmp_path: Path) -> None:
    for seed in range(examples(20)):
        chance = random.Random(seed)
        content = bytearray(image(chance.choice(("PNG", "JPEG", "GIF", "WEBP")), (200, 150)))
        for _ in range(chance.choice((1, 5, 50))):
            content[chance.randrange(len(content))] = chance.randrange(256)
        await is_unreadable(images, tmp_path, bytes(content[: chance.randrange(1, len(content) + 1)]))
