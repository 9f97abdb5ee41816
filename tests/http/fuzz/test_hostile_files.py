"""Generated files that claim to be others: no server error, and browsers show the five types only.

``TENANTRY_TEST_HOSTILE_FILES`` is their number, ``TENANTRY_TEST_SEED`` selects them; `make fuzz` sends 10,000.
"""

import unicodedata
from dataclasses import dataclass, field
from os import environ
from random import Random
from typing import Annotated, Any
from uuid import UUID

import pytest
from msgspec import Struct

from domain.entities.attachments.marks import attachment
from domain.entities.attachments.types import ANY_CONTENT, DETECTABLE, IMAGES, INLINE
from domain.entities.markers import entity
from tests.adapters.contents.true_files import TRUE
from tests.http.app import TestApp, open_test_app
from tests.http.conftest import seed

FILES = int(environ.get("TENANTRY_TEST_HOSTILE_FILES", "400"))
SEED = int(environ.get("TENANTRY_TEST_SEED", "20261128"))
LARGEST = 300_000
TEXTS = ["text/plain", "text/csv", "application/json"]
OFFICE = sorted(name for name in DETECTABLE if "officedocument" in name)

PAYLOADS = (
    b"<html><script>alert(1)</script></html>",
    b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
    b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>',
    b"<!DOCTYPE html><body onload=alert(1)>",
    b"*/=1;alert(1)//",
    b"%PDF-1.7\n1 0 obj <</OpenAction <</S /JavaScript /JS (app.alert(1))>>>> endobj\ntrailer\n%%EOF\n",
    b"GIF89a\xff\xff\xff\xff\0\0\0",
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xff\xff\xff\xff\xff\xff\xff\x08\x06\0\0\0",
    b"PK\x03\x04\x14\0\x09\0\x08\0",
    b"\0" * 64,
    "\u202e\ufeff".encode(),
    b"#!/bin/sh\nid\n",
    b"\xff\xd8\xff\xe1\xff\xffExif\0\0",
)
NAMES = (
    "../../etc/passwd",
    "a\r\nSet-Cookie: x=1",
    "photo.png\0.html",
    "\u202egnp.exe",
    "CON",
    "",
    "x" * 10_000,
    'a"; filename="b.html',
    "C:\\photos\\a.svg",
    "über ☃.html",
    "....",
    "a;b=c,d",
)
TYPES = ("text/html", "image/svg+xml", "image/png", "application/xhtml+xml", "x/y; charset=utf-7", "multipart/mixed")


def accepted(types: list[str]) -> Any:
    return Annotated[UUID | None, attachment(types, LARGEST)]


@entity("shelves")
class Shelf(Struct, rename="camel", kw_only=True):
    shown_id: accepted(sorted(INLINE)) = None  # type: ignore[valid-type]  # declared for each group of types
    drawn_id: Annotated[UUID | None, attachment(sorted(IMAGES), LARGEST, strip_metadata=True)] = None
    written_id: accepted(TEXTS) = None  # type: ignore[valid-type]
    packed_id: accepted([*OFFICE, "application/zip"]) = None  # type: ignore[valid-type]
    known_id: accepted(sorted(DETECTABLE - {ANY_CONTENT})) = None  # type: ignore[valid-type]
    stored_id: accepted([ANY_CONTENT, *sorted(INLINE)]) = None  # type: ignore[valid-type]


PURPOSES = ("shown", "drawn", "written", "packed", "known", "stored")
SIGNATURES = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
    "application/pdf": (b"%PDF-",),
}


@dataclass
class Files:
    """Files that are drawn from true ones."""

    chance: Random
    true: list[bytes] = field(default_factory=lambda: list(TRUE.values()))

    def content(self) -> bytes:
        made = bytearray(self.chance.choice(self.true))
        for _ in range(self.chance.randrange(1, 5)):
            self.chance.choice((self._insert, self._flip, self._cut, self._join, self._repeat, self._overwrite))(made)
        return bytes(made[: LARGEST + self.chance.choice((0, 0, 0, 1))])

    def _insert(self, made: bytearray) -> None:
        place = self.chance.choice((0, 4, 8, len(made), self.chance.randrange(len(made) + 1)))
        made[place:place] = self.chance.choice(PAYLOADS)

    def _overwrite(self, made: bytearray) -> None:
        payload, place = self.chance.choice(PAYLOADS), self.chance.randrange(len(made) + 1)
        made[place : place + len(payload)] = payload

    def _flip(self, made: bytearray) -> None:
        for _ in range(self.chance.randrange(1, 9)):
            if made:
                made[self.chance.randrange(len(made))] ^= 1 << self.chance.randrange(8)

    def _cut(self, made: bytearray) -> None:
        del made[self.chance.randrange(len(made) + 1) :]

    def _join(self, made: bytearray) -> None:
        other = self.chance.choice(self.true)
        made[:] = made + other if self.chance.random() < 0.5 else other + made

    def _repeat(self, made: bytearray) -> None:
        made *= self.chance.choice((1, 2, 50))


async def ensure_harmless(app: TestApp, files: Files) -> str:
    """Send one file; if it is accepted, attach and download it. Return the outcome."""
    content, purpose = files.content(), files.chance.choice(PURPOSES)
    form = {"file": (files.chance.choice(NAMES), content, files.chance.choice(TYPES))}
    answer = await app.call("POST", f"/api/files?purpose=shelves.{purpose}", as_whom="acme", files=form)
    assert answer.status_code in {201, 400, 413, 415}, answer.text
    if answer.status_code != 201:
        return str(answer.status_code)
    file = answer.json()["data"]
    ensure_plain_name(file["name"])
    made = await app.call("POST", "/api/shelves", as_whom="acme", json={f"{purpose}Id": file["id"]})
    assert made.status_code == 201, made.text
    path = f"/api/shelves/{made.json()['data']['id']}/{purpose}"
    read = await app.call("GET", path, as_whom="acme")
    assert read.status_code == 200, read.text
    if purpose != "drawn":
        assert read.content == content
    headers = read.headers
    shown = headers["content-type"].partition(";")[0]
    assert shown == file["type"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "sandbox; default-src 'none'"
    is_inline = headers["content-disposition"].startswith("inline;")
    assert is_inline or headers["content-disposition"].startswith("attachment;")
    assert is_inline == (shown in INLINE)
    if is_inline:
        ensure_real(shown, read.content)
    return shown


def ensure_plain_name(name: str) -> None:
    assert 0 < len(name) <= 255
    assert not {"/", "\\", "\u202e"} & set(name)
    assert not [char for char in name if unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"}]


def ensure_real(shown: str, content: bytes) -> None:
    """Browsers find the same type, and no markup where they look for it."""
    assert content.startswith(SIGNATURES[shown])
    assert not [payload for payload in PAYLOADS[:4] if payload in content[:512]]


@pytest.mark.timeout(7_200)
async def test_no_hostile_file_causes_a_server_error_or_is_shown() -> None:
    app = await open_test_app(entities=(Shelf,), counts_limits=False)
    await seed(app)
    files, outcomes = Files(Random(SEED)), dict[str, int]()
    for _ in range(FILES):
        outcome = await ensure_harmless(app, files)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    assert outcomes["415"] > FILES // 20, outcomes
    assert len(outcomes) > 8, outcomes
