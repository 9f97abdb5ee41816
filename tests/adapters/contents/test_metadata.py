"""Images without metadata: the same pixels, without location, comments and hidden content."""

import io
import random
from pathlib import Path

import pytest
from PIL import Image, ImageOps, ImageSequence, PngImagePlugin

from adapters.contents.metadata import strip_metadata
from domain.errors import UnsupportedMediaType
from tests.adapters.contents.true_files import image
from tests.examples import examples

SECRET = b"52.5163N 13.3777E"


def picture(frames: int = 1) -> list[Image.Image]:
    chance = random.Random(frames)
    return [Image.frombytes("RGB", (64, 48), chance.randbytes(64 * 48 * 3)) for _ in range(frames)]


def exif(orientation: int) -> bytes:
    made = Image.Exif()
    made[0x0112] = orientation
    made[0x010E] = SECRET.decode()
    made.get_ifd(0x8825)[1] = "N"
    return made.tobytes()


def written(form: str, *, frames: int = 1, **options: object) -> bytes:
    made, pictures = io.BytesIO(), picture(frames)
    more = {"save_all": True, "append_images": pictures[1:]} if frames > 1 else {}
    pictures[0].save(made, form, **options, **more)
    return made.getvalue()


def png() -> bytes:
    text = PngImagePlugin.PngInfo()
    text.add_text("Comment", SECRET.decode())
    text.add_itxt("XML:com.adobe.xmp", SECRET.decode())
    return written("PNG", pnginfo=text, exif=exif(6), icc_profile=bytes(128))


WITH_METADATA = {
    "image/jpeg": written("JPEG", exif=exif(6), comment=SECRET, icc_profile=bytes(128)),
    "a progressive image/jpeg": written("JPEG", exif=exif(3), progressive=True),
    "image/jpeg with a video": written("JPEG", exif=exif(8)) + SECRET,
    "image/png": png(),
    "image/png with an archive": png() + SECRET,
    "image/webp": written("WEBP", exif=exif(1), xmp=SECRET),
    "an animated image/webp": written("WEBP", exif=exif(1), xmp=SECRET, frames=3),
    "image/gif": written("GIF", comment=SECRET),
    "an animated image/gif": written("GIF", comment=SECRET, frames=3, loop=0) + SECRET,
}


def type_of(case: str) -> str:
    return next(word for word in case.split() if word.startswith("image/"))


def stripped(folder: Path, content: bytes, media_type: str) -> bytes:
    path = folder / "image"
    path.write_bytes(content)
    strip_metadata(path, media_type)
    return path.read_bytes()


def shown(content: bytes) -> list[bytes]:
    """Pixels of all frames, upright."""
    with Image.open(io.BytesIO(content)) as found:
        return [ImageOps.exif_transpose(frame).convert("RGBA").tobytes() for frame in ImageSequence.Iterator(found)]


@pytest.mark.parametrize("case", WITH_METADATA)
def test_the_pixels_stay_and_the_metadata_goes(tmp_path: Path, case: str) -> None:
    before = WITH_METADATA[case]
    after = stripped(tmp_path, before, type_of(case))
    assert SECRET in before
    assert SECRET not in after
    assert b"XMP " not in after
    assert shown(after) == shown(before)
    assert stripped(tmp_path, after, type_of(case)) == after
    with Image.open(io.BytesIO(after)) as found:
        assert not found.getexif().get_ifd(0x8825)
        assert set(found.getexif()) <= {0x0112}


def test_the_profile_of_colours_stays(tmp_path: Path) -> None:
    for media_type in ("image/jpeg", "image/png"):
        with Image.open(io.BytesIO(stripped(tmp_path, WITH_METADATA[media_type], media_type))) as found:
            assert found.info["icc_profile"] == bytes(128)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_an_image_without_metadata_stays_as_it_is(tmp_path: Path, form: str) -> None:
    content = image(form, (30, 20))
    assert stripped(tmp_path, content, f"image/{form.lower()}") == content


def test_other_files_stay_as_they_are(tmp_path: Path) -> None:
    assert stripped(tmp_path, b"%PDF-1.7", "application/pdf") == b"%PDF-1.7"


@pytest.mark.drawn
def test_damaged_images_are_refused_or_stripped(tmp_path: Path) -> None:
    for seed in range(examples(300)):
        chance = random.Random(seed)
        case = chance.choice([*WITH_METADATA])
        content = bytearray(WITH_METADATA[case])
        for _ in range(chance.choice((0, 1, 5))):
            content[chance.randrange(12, len(content))] = chance.randrange(256)
        try:
            stripped(tmp_path, bytes(content[: chance.randrange(33, len(content) + 1)]), type_of(case))
        except UnsupportedMediaType:
            continue
