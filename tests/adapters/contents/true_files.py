"""A small file of each type that can be detected, made by the program that usually makes it where there is one."""

import io
import zipfile
from collections.abc import Mapping

import polars as pl
from PIL import Image
from xlsxwriter import Workbook

OFFICE = "application/vnd.openxmlformats-officedocument."


def image(form: str, size: tuple[int, int] = (3, 2)) -> bytes:
    made = io.BytesIO()
    Image.new("RGB", size, (200, 30, 30)).save(made, form)
    return made.getvalue()


def archive(parts: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return made.getvalue()


def office(kind: str, main: str, **more: bytes) -> bytes:
    types = f'<Types><Override PartName="/{main}" ContentType="{OFFICE}{kind}.main+xml"/></Types>'.encode()
    return archive({"[Content_Types].xml": types, main: b"<x/>", **more})


def workbook() -> bytes:
    made = io.BytesIO()
    with Workbook(made, {"in_memory": True}) as book:
        book.add_worksheet().write(0, 0, "a")
    return made.getvalue()


def parquet() -> bytes:
    made = io.BytesIO()
    pl.DataFrame({"a": [1]}).write_parquet(made)
    return made.getvalue()


def ogg(first: bytes) -> bytes:
    return b"OggS\0\x02" + bytes(20) + b"\x01" + bytes([len(first)]) + first


FRAME = b"\xff\xfb\x90\x00" + bytes(413)
"""A silent frame: MPEG-1, layer 3, 128 kilobits, 44,100 Hz, 417 bytes."""
ID3 = b"ID3\x04\0\0\0\0\0\x0aTIT2\0\0\0\0\0\0"
PDF = b"%PDF-1.7\n1 0 obj <</Type /Catalog>> endobj\ntrailer <</Root 1 0 R>>\nstartxref\n9\n%%EOF\n"
MP4 = b"\0\0\0\x18ftypisom\0\0\2\0isomiso2\0\0\0\x08mdat"
DOCX = office("wordprocessingml.document", "word/document.xml")
PPTX = office("presentationml.presentation", "ppt/presentation.xml", **{"ppt/embeddings/book1.xlsx": workbook()})

TRUE: Mapping[str, bytes] = {
    "image/png": image("PNG"),
    "image/jpeg": image("JPEG"),
    "image/gif": image("GIF"),
    "image/webp": image("WEBP"),
    "application/pdf": PDF,
    "application/zip": archive({"a.txt": b"a"}),
    f"{OFFICE}wordprocessingml.document": DOCX,
    f"{OFFICE}spreadsheetml.sheet": workbook(),
    f"{OFFICE}presentationml.presentation": PPTX,
    "audio/mpeg": ID3 + 3 * FRAME,
    "video/mp4": MP4,
    "application/ogg": ogg(b"\x80theora\3\2\1"),
    "audio/ogg": ogg(b"\x01vorbis" + bytes(23)),
    "application/vnd.apache.parquet": parquet(),
    "text/plain": "Grüße\n".encode(),
    "text/csv": b"a,b\r\n1,2\r\n",
    "application/json": b'{"a": [1, 2.5, null, "\\u00e4"]}',
}
"""Content by type."""
