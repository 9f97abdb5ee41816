"""Workbooks made hostile at random: none takes over 10 seconds of CPU or 200 MiB, and all are answered.

``make fuzz`` tries more of them.
"""

import asyncio
import io
import random
import resource
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from domain.entities.declaration import Registry
from domain.errors import Error
from tests.adapters.sheets.test_hostile_files import PLAIN, seen, watched
from tests.examples import examples

COUNT = examples(12)
MOST_CPU, MOST_MEMORY = 10.0, 200 * 1024 * 1024
SHEET, TEXTS, BOOK, STYLES = (
    "xl/worksheets/sheet1.xml",
    "xl/sharedStrings.xml",
    "xl/workbook.xml",
    "xl/styles.xml",
)
MAIN = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"

Parts = dict[str, bytes]
Chance = random.Random


def real(chance: Chance) -> Parts:
    """Parts of a workbook that a program has written."""
    typed = (Path(__file__).parent / "typed" / "typed.xlsx").read_bytes()
    with zipfile.ZipFile(io.BytesIO(chance.choice((PLAIN, typed)))) as book:
        return {part.filename: book.read(part) for part in book.infolist()}


def sheet(rows: bytes) -> bytes:
    head = b"".join(b'<c t="inlineStr"><is><t>%s</t></is></c>' % name for name in (b"name", b"sku", b"price"))
    return b'<worksheet xmlns="%s"><sheetData><row>%s</row>%s</sheetData></worksheet>' % (MAIN, head, rows)


def one_text_many_times(parts: Parts, chance: Chance) -> None:
    text = b"a" * chance.choice((100, 32_767, 1_000_000))
    parts[TEXTS] = b'<sst xmlns="%s"><si><t>%s</t></si></sst>' % (MAIN, text)
    row = b'<row><c t="s"><v>0</v></c><c t="s"><v>0</v></c><c><v>1</v></c></row>'
    parts[SHEET] = sheet(row * chance.choice((1_000, 30_000, 300_000)))


def false_dimensions(parts: Parts, chance: Chance) -> None:
    claim = chance.choice((b"A1:XFD1048576", b"A1", b"XFD1048576:A1", b"A1:" + b"Z" * 10_000))
    parts[SHEET] = parts[SHEET].replace(b"<sheetData>", b'<dimension ref="%s"/><sheetData>' % claim)


def far_cells(parts: Parts, chance: Chance) -> None:
    row = chance.choice((2, 1_048_576, 2**31, 10**18, -1))
    column = chance.choice((b"A", b"ZZ", b"XFD", b"ZZZ", b"ZZZZZZZZ", b"\xc3\x84", b""))
    cell = b'<c r="%s%d"><v>1</v></c>' % (column, row)
    parts[SHEET] = sheet(b'<row r="%d">%s</row>' % (row, cell * chance.choice((1, 2, 100_000))))


def nested(parts: Parts, chance: Chance) -> None:
    name, depth = chance.choice((b"c", b"row", b"x", b"is")), chance.choice((10, 65, 100_000, 5_000_000))
    closing = b"</%s>" % name * depth if chance.random() < 0.5 else b""
    parts[SHEET] = sheet(b"<%s>" % name * depth + closing)


def prefixed(parts: Parts, chance: Chance) -> None:
    text = (
        parts[SHEET].replace(b"</", b"</x:").replace(b"<", b"<x:").replace(b"<x:/x:", b"</x:").replace(b"<x:?", b"<?")
    )
    parts[SHEET] = text.replace(b"xmlns=", b"xmlns:x=" if chance.random() < 0.8 else b"xmlns:y=")


def single_quotes(parts: Parts, _: Chance) -> None:
    for name in (SHEET, BOOK, TEXTS):
        parts[name] = parts.get(name, b"").replace(b'"', b"'")


def bomb(parts: Parts, chance: Chance) -> None:
    letter = chance.choice((b"\0", b"a", b"<", b" ", b"<c/>", b"<c r='A2'/>", b"&#1;", b"&lt;"))
    size = chance.choice((5, 150, 250)) * 2**20
    filling = letter * (size // len(letter))
    name = chance.choice((SHEET, TEXTS, STYLES, BOOK, "xl/media/image1.png"))
    parts[name] = chance.choice((filling, sheet(filling), sheet(b"<row><c><v>" + filling + b"</v></c></row>")))


def many_elements(parts: Parts, chance: Chance) -> None:
    count = chance.choice((100_000, 5_000_000, 20_000_000))
    if chance.random() < 0.3:
        text = chance.choice((b"<si/>", b"<si><t>ab</t></si>", b"<si><t>\xf0\x9f\x98\x80b</t></si>"))
        parts[TEXTS] = b'<sst xmlns="%s">%s</sst>' % (MAIN, text * count)
    elif chance.random() < 0.3:
        parts[STYLES] = b'<styleSheet xmlns="%s"><cellXfs>%s</cellXfs></styleSheet>' % (MAIN, b"<xf/>" * count)
    else:
        element = chance.choice((b"<row/>", b"<c/>", b"<row><c><v>1</v></c></row>", b"<f/>", b"<row><c/></row>"))
        parts[SHEET] = sheet(element * count)


def broken_tags(parts: Parts, chance: Chance) -> None:
    piece = chance.choice(
        (b"<c ", b"<row r=", b'<c a="', b"<c a='1' ", b"<!--", b"<![CDATA[", b"<?x ", b"&", b"<c <c ")
    )
    parts[SHEET] = sheet(piece * chance.choice((1, 100, 100_000, 3_000_000)))


def many_attributes(parts: Parts, chance: Chance) -> None:
    form = chance.choice((b' a%d="1"', b' xmlns:a%d="u"', b' a%d="%d"'))
    names = b"".join(
        form % ((n, n) if form.count(b"%d") == 2 else n) for n in range(chance.choice((10, 5_000, 500_000)))
    )
    parts[SHEET] = sheet(b"<row" + names + b"/>" + b"<row/>")


def entities(parts: Parts, chance: Chance) -> None:
    laughs = b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 10))
    kind = chance.choice((b'[<!ENTITY a0 "ha">%s]' % laughs, b'SYSTEM "file:///etc/passwd"', b"[%s]" % laughs))
    text = b"<!DOCTYPE x " + kind + b">" + parts[SHEET][parts[SHEET].find(b"<worksheet") :]
    name = chance.choice((SHEET, BOOK, TEXTS))
    parts[name] = text.decode("latin-1").encode("utf-16") if chance.random() < 0.3 else text


def odd_cells(parts: Parts, chance: Chance) -> None:
    kinds = (b"s", b"b", b"e", b"d", b"str", b"n", b"", b"x" * 1_000)
    values = (b"-1", b"1e999", b"9" * 300, b"nan", b"_x0000_" * 1_000, b"_xD800_", b"0" * 100_000, b"2026-99-99", b"")
    cells = b"".join(
        b'<row><c t="%s" s="%d"><v>%s</v></c></row>' % (chance.choice(kinds), chance.choice((0, 1, 10**9)), value)
        for value in values * chance.choice((1, 1_000))
    )
    parts[SHEET] = sheet(cells)


MUTATIONS: list[Callable[[Parts, Chance], None]] = [
    one_text_many_times,
    false_dimensions,
    far_cells,
    nested,
    prefixed,
    single_quotes,
    bomb,
    many_elements,
    broken_tags,
    many_attributes,
    entities,
    odd_cells,
]


def packed(parts: Parts) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as book:
        for name, body in parts.items():
            book.writestr(name, body)
    return made.getvalue()


def as_it_is(file: bytearray, _: Chance) -> bytes:
    return bytes(file)


def flipped(file: bytearray, chance: Chance) -> bytes:
    for _ in range(chance.choice((1, 10, 100))):
        file[chance.randrange(len(file))] = chance.randrange(256)
    return bytes(file)


def cut_off(file: bytearray, chance: Chance) -> bytes:
    return bytes(file[: chance.randrange(4, len(file))])


def central(file: bytearray) -> int:
    return struct.unpack("<I", file[-6:-2])[0] if file[-22:-18] == b"PK\5\6" else file.rfind(b"PK\1\2")


def wrong_checksum(file: bytearray, chance: Chance) -> bytes:
    place = central(file) + chance.choice((16, 20, 24, 42))  # checksum, both sizes, and where the part stands
    file[place : place + 4] = struct.pack("<I", chance.choice((0, 1, 2**31, 2**32 - 1)))
    return bytes(file)


def overlapping(file: bytearray, chance: Chance) -> bytes:
    """Many entries of the directory that stand for one part."""
    start = central(file)
    length = 46 + sum(struct.unpack("<HHH", file[start + 28 : start + 34]))
    count = chance.choice((2, 999, 60_000))
    entries = bytes(file[start : start + length]) * count
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, count, count, len(entries), start, 0)
    return bytes(file[:start]) + entries + end


PACKINGS: list[Callable[[bytearray, Chance], bytes]] = [
    *[as_it_is] * 6,
    flipped,
    cut_off,
    wrong_checksum,
    overlapping,
]


def hostile(seed: int) -> bytes:
    chance = Chance(seed)
    parts = real(chance)
    # one after the other, so that a short run has each of them
    first = MUTATIONS[seed % len(MUTATIONS)]
    for mutation in (first, *chance.sample(MUTATIONS, chance.choice((0, 0, 1)))):
        mutation(parts, chance)
    return chance.choice(PACKINGS)(bytearray(packed(parts)), chance)


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.promise(
    "files, hostile files: XML is scanned by a streaming parser within limits: declared entities, depth, tags, "
    "attributes, quotes of either kind and prefixes take little time and memory"
)
@pytest.mark.promise(
    "files, hostile files: Workbooks drawn at random, of twelve kinds, take at most 10 s of CPU and 200 MiB (make "
    "fuzz: 1,000)"
)
@pytest.mark.promise("files, hostile files: a text that thousands of rows share is read in little memory")
@pytest.mark.drawn
@pytest.mark.timeout(300 + 10 * COUNT)
async def test_hostile_workbooks_use_bounded_time_and_memory(registry: Registry) -> None:
    worst_cpu, worst_memory = (0.0, -1), (0, -1)
    for seed in range(COUNT):
        file, peak, before = hostile(seed), [0], cpu_of_children()
        watching = asyncio.create_task(watched(peak))
        try:
            await seen(registry, file)
        except Error as error:
            assert error.code in {"BAD_REQUEST", "VALIDATION_ERROR", "PAYLOAD_TOO_LARGE"}, seed  # noqa: PT017  # or none
        finally:
            watching.cancel()
        worst_cpu = max(worst_cpu, (cpu_of_children() - before, seed))
        worst_memory = max(worst_memory, (peak[0], seed))
    print(f"{COUNT} workbooks: at most {worst_cpu[0]:.1f} s of CPU (seed {worst_cpu[1]}),", end=" ")  # noqa: T201  # the report of a long test
    print(f"{worst_memory[0] / 2**20:.0f} MiB (seed {worst_memory[1]})")  # noqa: T201  # the report of a long test
    assert worst_cpu[0] < MOST_CPU, worst_cpu
    assert worst_memory[0] < MOST_MEMORY, worst_memory
