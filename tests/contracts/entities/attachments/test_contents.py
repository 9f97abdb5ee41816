"""Types of files: what the bytes show decides, and neither name nor header of the upload."""

import io
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image

from adapters.contents.detection import ANY_CONTENT, MOST_PIXELS, DetectedContents
from adapters.contents.texts import LARGEST_JSON
from adapters.sheets.xlsx.archive import office_archive
from application.ports.entities.attachments import Content, Contents
from domain.errors import UnsupportedMediaType
from tests.adapters.contents.true_files import FRAME, OFFICE, PDF, TRUE, archive, image, office

INLINE = ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"]
DOCX = f"{OFFICE}wordprocessingml.document"
TEXTS = {"text/plain", "text/csv", "application/json"}
BROADER = {
    "audio/ogg": {"application/ogg"},
    **{
        f"{OFFICE}{kind}": {"application/zip"}
        for kind in ("wordprocessingml.document", "spreadsheetml.sheet", "presentationml.presentation")
    },
    "application/json": {"text/plain", "text/csv"},
    "text/csv": {"text/plain"},
    "text/plain": {"text/csv"},
}
"""Types that a file of a type has as well."""
HTML = b"<html><script>alert(1)</script></html>"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@pytest.fixture
def contents() -> Contents:
    return DetectedContents(office_archive)


async def detect(contents: Contents, folder: Path, content: bytes, *types: str) -> Content:
    path = folder / "upload"
    path.write_bytes(content)
    return await contents.detect(path, types)


async def refusal(contents: Contents, folder: Path, content: bytes, *types: str) -> str:
    with pytest.raises(UnsupportedMediaType) as refused:
        await detect(contents, folder, content, *types)
    return refused.value.message


@pytest.mark.parametrize("actual", TRUE)
async def test_a_file_has_its_type_and_no_other(contents: Contents, tmp_path: Path, actual: str) -> None:
    has = set()
    for declared in TRUE:
        try:
            found = await detect(contents, tmp_path, TRUE[actual], declared)
        except UnsupportedMediaType:
            continue
        assert found.type == declared
        has.add(declared)
    assert has == {actual} | BROADER.get(actual, set())


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
@pytest.mark.parametrize("size", [(1, 1), (640, 3), (3, 480)])
async def test_an_image_has_its_width_and_height(
    contents: Contents, tmp_path: Path, form: str, size: tuple[int, int]
) -> None:
    found = await detect(contents, tmp_path, image(form, size), *INLINE)
    assert found == Content(f"image/{form.lower()}", *size)


@pytest.mark.parametrize("options", [{"lossless": True}, {"exif": b"Exif\0\0" + bytes(60_000)}])
async def test_other_forms_of_webp_have_their_size(
    contents: Contents, tmp_path: Path, options: dict[str, object]
) -> None:
    made = io.BytesIO()
    Image.new("RGBA", (300, 200), (1, 2, 3, 4)).save(made, "WEBP", **options)
    assert await detect(contents, tmp_path, made.getvalue(), "image/webp") == Content("image/webp", 300, 200)


async def test_a_jpeg_with_large_metadata_has_its_size(contents: Contents, tmp_path: Path) -> None:
    made = io.BytesIO()
    Image.new("RGB", (30, 20)).save(made, "JPEG", exif=b"Exif\0\0" + bytes(60_000), progressive=True)
    assert await detect(contents, tmp_path, made.getvalue(), "image/jpeg") == Content("image/jpeg", 30, 20)


async def test_the_first_declared_type_that_fits_wins_and_any_content_is_last(
    contents: Contents, tmp_path: Path
) -> None:
    types = [ANY_CONTENT, "text/csv", "text/plain", "application/json", "image/png"]
    assert (await detect(contents, tmp_path, b"{}", *types)).type == "text/csv"
    assert (await detect(contents, tmp_path, TRUE["image/png"], *types)).type == "image/png"
    assert (await detect(contents, tmp_path, PDF, *types)).type == ANY_CONTENT
    assert (await detect(contents, tmp_path, TRUE["image/png"], ANY_CONTENT)).type == ANY_CONTENT
    assert (await detect(contents, tmp_path, b"", *types)).type == "text/csv"


HIDDEN = {
    "HTML behind the first bytes of a PNG": b"\x89PNG\r\n\x1a\n" + HTML,
    "HTML within the header of a PNG": TRUE["image/png"][:24] + HTML,
    "HTML in the comment of a GIF": TRUE["image/gif"][:13] + b"!\xfe\x26" + HTML,
    "HTML in the comment of a JPEG": b"\xff\xd8\xff\xfe\x00\x28" + HTML + TRUE["image/jpeg"][2:],
    "HTML with a GIF's first bytes": b"GIF89a/*" + HTML,
    "SVG": SVG,
    "SVG with an XML declaration": b'<?xml version="1.0"?>\n' + SVG,
    "HTML": HTML,
    "HTML that is PDF as well": b"%PDF-1.7\n" + HTML + PDF[9:],
    "PDF behind HTML": HTML + PDF,
    "HTML with a PDF's first bytes": b"%PDF-" + HTML,
    "a PDF without end": PDF[:-6],
    "XML": b'<?xml version="1.0"?><a/>',
    "a program": b"\x7fELF\2\1\1" + bytes(100),
    "nothing": b"",
    "a WAV, which is RIFF like WebP": b"RIFF\x24\0\0\0WAVEfmt " + bytes(40),
    "a HEIC, which is a box like MP4": b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(40),
}


@pytest.mark.parametrize("case", HIDDEN)
async def test_content_of_another_type_is_never_shown_inline(contents: Contents, tmp_path: Path, case: str) -> None:
    assert "Accepted types: image/png" in await refusal(contents, tmp_path, HIDDEN[case], *INLINE)
    found = await detect(contents, tmp_path, HIDDEN[case], *INLINE, ANY_CONTENT)
    assert found.type == ANY_CONTENT


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (SVG, "image/svg+xml"),
        (b"<!DOCTYPE html>" + HTML, "text/html"),
        (PDF, "application/pdf"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "not a whole image/png"),
        (b"Hello, ", "text/plain"),
        (bytes(9), ANY_CONTENT),
    ],
)
async def test_a_refusal_names_the_type_that_was_found(
    contents: Contents, tmp_path: Path, content: bytes, named: str
) -> None:
    message = await refusal(contents, tmp_path, content, "image/gif", "video/mp4")
    assert message == f"The content is {named}. Accepted types: image/gif, video/mp4."


async def test_a_refusal_says_that_a_file_is_empty(contents: Contents, tmp_path: Path) -> None:
    message = await refusal(contents, tmp_path, b"", "image/gif", "video/mp4")
    assert message == "The file is empty. Accepted types: image/gif, video/mp4."


def encrypted(file: bytes) -> bytes:
    """The archive, with all entries marked as encrypted."""
    return file.replace(b"PK\1\2\x14\3\x14\0\0\0", b"PK\1\2\x14\3\x14\0\1\0")


OFFICE_FILES = {
    "macros": office("wordprocessingml.document", "word/document.xml", **{"word/vbaProject.bin": b"x"}),
    "a template": office("wordprocessingml.template", "word/document.xml"),
    "macros by type": office("wordprocessingml.document.macroEnabled", "word/document.xml"),
    "a truncated archive": TRUE[DOCX][:-30],
    "an encrypted entry": encrypted(TRUE[DOCX]),
    "two kinds": archive(
        {
            "[Content_Types].xml": b"".join(
                f'<Override ContentType="{OFFICE}{kind}.main+xml"/>'.encode()
                for kind in ("wordprocessingml.document", "spreadsheetml.sheet")
            )
        }
    ),
    "no types": archive({"word/document.xml": b"<x/>"}),
    "a bomb": archive({"[Content_Types].xml": b"<x/>", "word/document.xml": bytes(201 * 1024 * 1024)}),
    "a bomb as the types": archive({"[Content_Types].xml": bytes(50 * 1024 * 1024)}),
}


@pytest.mark.parametrize("case", OFFICE_FILES)
async def test_an_unsafe_office_file_is_at_most_an_archive(contents: Contents, tmp_path: Path, case: str) -> None:
    await refusal(contents, tmp_path, OFFICE_FILES[case], DOCX)


async def test_a_workbook_is_no_document(contents: Contents, tmp_path: Path) -> None:
    message = await refusal(contents, tmp_path, TRUE[f"{OFFICE}spreadsheetml.sheet"], DOCX)
    assert message.startswith(f"The content is {OFFICE}spreadsheetml.sheet.")


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (b"a\0b", "text/plain"),
        (b"\xff\xfea\0", "text/plain"),
        ("ä".encode("latin-1"), "text/csv"),
        ("ä".encode()[:1], "text/plain"),
        (b"{", "application/json"),
        (b"{} {}", "application/json"),
        (b"[NaN]", "application/json"),
        (b"[" * 100_000, "application/json"),
        (b'"' + b"a" * LARGEST_JSON + b'"', "application/json"),
        (b"ID3 tags of music, a text", "audio/mpeg"),
        (FRAME, "audio/mpeg"),
        (b"PAR1" + bytes(8) + b"PAR1", "application/vnd.apache.parquet"),
        (b"PAR1", "application/vnd.apache.parquet"),
        (b"OggS\0\x02", "audio/ogg"),
        (b"PK\3\4" + bytes(40), "application/zip"),
    ],
)
async def test_a_damaged_file_does_not_have_its_type(
    contents: Contents, tmp_path: Path, content: bytes, media_type: str
) -> None:
    await refusal(contents, tmp_path, content, media_type)


async def test_a_character_at_the_edge_of_two_pieces_is_text(contents: Contents, tmp_path: Path) -> None:
    content = b"a" * (256 * 1024 - 1) + "ä".encode() + b"b" * 256 * 1024
    assert (await detect(contents, tmp_path, content, "text/plain")).type == "text/plain"


def png(width: int, height: int) -> bytes:
    """The begin of a PNG of any size: 45 bytes."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n\0\0\0\r" + head + struct.pack(">I", zlib.crc32(head)) + b"\0\0\0\0IEND\xaeB`\x82"


@pytest.mark.parametrize(
    "content",
    [
        png(65_535, 65_535),
        png(MOST_PIXELS // 5_000 + 1, 5_000),
        TRUE["image/gif"][:6] + b"\xff\xff\xff\xff" + TRUE["image/gif"][10:],
    ],
)
async def test_an_image_of_too_many_pixels_is_refused(contents: Contents, tmp_path: Path, content: bytes) -> None:
    message = await refusal(contents, tmp_path, content, *INLINE)
    assert message.endswith("it may have 50 million at most.")


async def test_an_image_of_the_most_pixels_is_accepted(contents: Contents, tmp_path: Path) -> None:
    found = await detect(contents, tmp_path, png(MOST_PIXELS // 5_000, 5_000), *INLINE)
    assert found == Content("image/png", 10_000, 5_000)


@pytest.mark.parametrize("size", [(0, 5), (5, 0)])
async def test_an_image_without_pixels_is_not_an_image(
    contents: Contents, tmp_path: Path, size: tuple[int, int]
) -> None:
    await refusal(contents, tmp_path, png(*size), "image/png")


async def test_stripping_removes_what_is_behind_an_image_and_leaves_other_files(
    contents: Contents, tmp_path: Path
) -> None:
    path = tmp_path / "upload"
    for content, media_type, after in (
        (TRUE["image/png"] + HTML, "image/png", TRUE["image/png"]),
        (PDF + HTML, "application/pdf", PDF + HTML),
    ):
        path.write_bytes(content)
        await contents.strip(path, media_type)
        assert path.read_bytes() == after
