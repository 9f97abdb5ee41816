"""The archive of an xlsx: checked before any parsing, then inflated part by part."""

import os
import posixpath
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from domain.entities.sheets import LARGEST_INFLATED
from domain.errors import BadRequest

MOST_PARTS = 1_000
MOST_PARTS_OF_OFFICE = 5_000
"""Maximum entries of a document or presentation: each slide has several."""
LARGEST_DIRECTORY = 1024 * 1024
"""Maximum bytes of the archive's directory: Python's reader creates an object per entry, before they can be counted."""
PIECE = 64 * 1024
# Maximum bytes at the end of a ZIP file: end of central directory record (22), comment (65,535), ZIP64 records.
_ENDING = 65_536 + 128
_END, _END_64 = b"PK\x05\x06", b"PK\x06\x06"
_LOCAL = b"PK\x03\x04"
_ARCHIVES = (_LOCAL, b"Rar!", b"7z\xbc\xaf", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\xd0\xcf\x11\xe0")
_MACROS = re.compile(r"vbaproject|vbadata|xl/macrosheets/|xl/dialogsheets/", re.IGNORECASE)
_REQUIRED = "[content_types].xml"


class Archive:
    """Entries of an archive that passed all checks. Raises BadRequest, naming the entry.

    ``may_nest`` permits archives as entries.
    """

    def __init__(self, file: BinaryIO, *, most_parts: int = MOST_PARTS, may_nest: bool = False) -> None:
        self._file = file
        self._may_nest = may_nest
        try:
            _ensure_short_directory(file)
            file.seek(0)
            with zipfile.ZipFile(file) as book:
                parts = book.infolist()
            for part in parts:
                part.filename = _usual_name(part.filename)
            _ensure_plain(parts, most_parts)
            _ensure_apart(parts)
            self._parts = {part.filename.lower(): part for part in parts}
            left = LARGEST_INFLATED
            for part in parts:
                left -= self._measured(part, left)
        except (zipfile.BadZipFile, NotImplementedError, zlib.error, EOFError, ValueError, OSError) as error:
            raise BadRequest("The file is a damaged xlsx.") from error

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._parts

    @property
    def names(self) -> Iterable[str]:
        """Names of the archive entries, in lower case."""
        return self._parts.keys()

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield an entry's content; names are case-insensitive, as in spreadsheet programs."""
        return self._inflated(self._parts[name.lower()])

    def _measured(self, part: zipfile.ZipInfo, most: int) -> int:
        """Inflated size of a part. Raises BadRequest past ``most`` bytes."""
        size = checksum = 0
        for piece in self._inflated(part):
            if not size and not self._may_nest and piece.startswith(_ARCHIVES):
                raise BadRequest(f"The file holds another archive ({part.filename}).")
            size += len(piece)
            if size > most:
                raise BadRequest(f"The file inflates past {LARGEST_INFLATED // 2**20} MiB ({part.filename}).")
            checksum = zlib.crc32(piece, checksum)
        if size != part.file_size:
            raise BadRequest(f"The file lies about its sizes ({part.filename}).")
        if checksum != part.CRC:
            raise BadRequest(f"The file is a damaged xlsx: {part.filename} differs from its checksum.")
        return size

    def _inflated(self, part: zipfile.ZipInfo) -> Iterator[bytes]:
        # Security: inflate the data here. zipfile stops at the stated size, so it would not detect that a zip bomb
        # exceeds it.
        position, left = self._start(part), part.compress_size
        inflater = None if part.compress_type == zipfile.ZIP_STORED else zlib.decompressobj(-15)  # raw deflate
        while left:
            self._file.seek(position)
            packed = self._file.read(min(left, PIECE))
            if not packed:
                raise EOFError
            left -= len(packed)
            position += len(packed)
            if inflater is None:
                yield packed
                continue
            while packed:
                if inflater.eof:  # bytes after the end would be gathered and copied with each piece
                    raise zlib.error
                yield inflater.decompress(packed, PIECE)
                packed = inflater.unconsumed_tail
        if inflater is not None:
            yield inflater.flush()
            if not inflater.eof:
                raise EOFError

    def _start(self, part: zipfile.ZipInfo) -> int:
        self._file.seek(part.header_offset)
        head = self._file.read(30)
        if len(head) < 30 or not head.startswith(_LOCAL):
            raise zipfile.BadZipFile
        name, extra = struct.unpack("<HH", head[26:30])
        return part.header_offset + 30 + int(name) + int(extra)


def office_archive(file: BinaryIO) -> Archive:
    """Open a docx, xlsx or pptx. Charts of presentations contain workbooks, and pictures may be compressed."""
    return Archive(file, most_parts=MOST_PARTS_OF_OFFICE, may_nest=True)


def _usual_name(name: str) -> str:
    """Return the name as in the relationships: some programs on Windows write ``\\xl\\workbook.xml``."""
    return name.replace("\\", "/").lstrip("/")


def _ensure_short_directory(file: BinaryIO) -> None:
    """Raise BadRequest if an end record states a directory over the limit: ZIP readers use different end records."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _ENDING))
    end = file.read()
    stated = [end[match.start() + 12 : match.start() + 16] for match in re.finditer(re.escape(_END), end)]
    stated += [end[match.start() + 40 : match.start() + 48] for match in re.finditer(re.escape(_END_64), end)]
    for length in stated:
        if LARGEST_DIRECTORY < int.from_bytes(length, "little") != 0xFFFFFFFF:
            raise BadRequest(f"The file has too many parts: an xlsx has {MOST_PARTS} at most.")


def _ensure_plain(parts: Sequence[zipfile.ZipInfo], most: int) -> None:
    names = [part.filename for part in parts]
    lowered = {name.lower() for name in names}
    if len(parts) > most:
        raise BadRequest(f"The file has {len(parts)} parts; an xlsx has {most} at most.")
    if len(lowered) < len(parts):
        raise BadRequest("The file has two parts of one name.")
    if any(part.flag_bits & 0x41 for part in parts):  # bit 0: encrypted, bit 6: strongly encrypted
        raise BadRequest("The file is encrypted: save it without a password.")
    if _REQUIRED not in lowered:
        raise BadRequest("The file is an archive, but no xlsx.")
    macro = next((name for name in names if _MACROS.search(name)), None)
    if macro is not None:
        raise BadRequest(f"The file carries macros ({macro}): save it as xlsx, without them.")
    if any(part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for part in parts):
        raise BadRequest("The file is packed in a way that no xlsx is.")


def _ensure_apart(parts: Sequence[zipfile.ZipInfo]) -> None:
    """Refuse overlapping entries: with them, a small file could inflate to a large one."""
    end = 0
    for part in sorted(parts, key=lambda part: part.header_offset):
        if part.header_offset < end:
            raise BadRequest(f"The file is a damaged xlsx: {part.filename} lies within another part.")
        end = part.header_offset + 30 + part.compress_size


def resolved(target: str, folder: str) -> str:
    """Return the name of the entry for a relationship, relative to its folder: ``worksheets/a.xml`` is
    ``xl/worksheets/a.xml``.

    A target with a leading slash starts at the top of the archive.
    """
    return posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
