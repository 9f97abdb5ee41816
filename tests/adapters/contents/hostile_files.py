"""Files that are made hostile at random: true files that are cut, changed, joined, or hide markup."""

import random
from collections.abc import Callable

from tests.adapters.contents.true_files import TRUE, archive

MARKUP = (
    b"<html><script>alert(1)</script></html>",
    b"<!DOCTYPE html><body onload=alert(1)>",
    b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
    b'<?xml version="1.0"?><x:script xmlns:x="http://www.w3.org/1999/xhtml">alert(1)</x:script>',
    b"<iframe src=javascript:alert(1)>",
    b"%PDF-1.7\n",
    b"PK\x03\x04",
    b"MZ\x90\0",
    b"#!/bin/sh\n",
)
Chance = random.Random
Change = Callable[[bytes, Chance], bytes]


def _cut(file: bytes, chance: Chance) -> bytes:
    return file[: chance.randrange(len(file) + 1)]


def _flipped(file: bytes, chance: Chance) -> bytes:
    changed = bytearray(file)
    for _ in range(chance.choice((1, 3, 30))):
        if changed:
            # Most checks look at the first bytes.
            place = chance.randrange(min(len(changed), chance.choice((16, 64, len(changed)))))
            changed[place] = chance.choice((0, 0xFF, changed[place] ^ 1 << chance.randrange(8), chance.randrange(256)))
    return bytes(changed)


def _with_markup(file: bytes, chance: Chance) -> bytes:
    place = chance.choice((0, 2, 4, 8, 12, min(len(file), chance.randrange(64)), len(file)))
    return file[:place] + chance.choice(MARKUP) + file[place:]


def _over_markup(file: bytes, chance: Chance) -> bytes:
    place, markup = chance.choice((0, 2, 4, 8, 12, 33)), chance.choice(MARKUP)
    return file[:place] + markup + file[place + len(markup) :]


def _joined(file: bytes, chance: Chance) -> bytes:
    other = chance.choice([*TRUE.values()])
    return file + other if chance.random() < 0.5 else file[: chance.randrange(40)] + other


def _packed(file: bytes, chance: Chance) -> bytes:
    return archive({chance.choice(("a", "[Content_Types].xml", "word/document.xml", "../a")): file})


def _repeated(file: bytes, chance: Chance) -> bytes:
    return file * chance.choice((2, 5)) if len(file) < 10_000 else file


_CHANGES: tuple[Change, ...] = (_cut, _flipped, _with_markup, _over_markup, _joined, _packed, _repeated)


def hostile_file(seed: int) -> bytes:
    """The file of this number, always the same one."""
    chance = Chance(seed)
    file = chance.choice([*TRUE.values()])
    for _ in range(chance.choice((1, 1, 2, 4))):
        file = chance.choice(_CHANGES)(file, chance)
    return file
