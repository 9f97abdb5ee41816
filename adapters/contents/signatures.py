"""Types of files other than images and text: a signature, and the structure behind it."""

import re
from collections.abc import Callable, Iterator
from typing import BinaryIO

from msgspec import Struct

HEAD, TAIL = 8 * 1024, 66 * 1024
"""Bytes that are read from the begin and the end. A ZIP file has its directory's place in the last 65,557 bytes."""
_PDF = re.compile(rb"%PDF-[0-9]\.[0-9]")
# Apple's QuickTime, HEIC, AVIF and audio have other brands.
_BRAND = re.compile(rb"iso[2-9a-cm]|mp4[0-9]|avc1|M4V[ HP]|MSNV|dash|F4V |XAVC|NDSC|NDSH|NDSS|NDXS")
_AUDIO = (b"\x01vorbis", b"OpusHead", b"\x7fFLAC", b"Speex   ")
_BITRATES = {
    3: (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    2: (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
"""Kilobits per second of layer 3, for MPEG-1 (3) and for MPEG-2 and 2.5 (2)."""
_RATES = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}
"""Samples per second by version: 3 is MPEG-1, 2 is MPEG-2, 0 is MPEG-2.5."""


class Sample(Struct, frozen=True):
    """Begin, end and size of a file."""

    file: BinaryIO
    head: bytes
    tail: bytes
    size: int

    @classmethod
    def of(cls, file: BinaryIO) -> "Sample":
        size = file.seek(0, 2)
        file.seek(0)
        head = file.read(HEAD)
        file.seek(max(0, size - TAIL))
        return cls(file, head, file.read(TAIL), size)


def _is_pdf(sample: Sample) -> bool:
    return _PDF.match(sample.head) is not None and b"%%EOF" in sample.tail


def is_zip(sample: Sample) -> bool:
    return sample.head.startswith((b"PK\x03\x04", b"PK\x05\x06")) and b"PK\x05\x06" in sample.tail


def _is_parquet(sample: Sample) -> bool:
    if sample.size < 12 or not (sample.head.startswith(b"PAR1") and sample.tail.endswith(b"PAR1")):
        return False
    return 0 < int.from_bytes(sample.tail[-8:-4], "little") <= sample.size - 12


def _is_mp4(sample: Sample) -> bool:
    size = int.from_bytes(sample.head[:4], "big")
    is_box = sample.head[4:8] == b"ftyp" and 16 <= size <= min(1024, sample.size) and size % 4 == 0
    return is_box and _BRAND.fullmatch(sample.head[8:12]) is not None


def _is_ogg(sample: Sample) -> bool:
    """Return whether the file begins with the first page of a stream."""
    return sample.head[:5] == b"OggS\0" and len(sample.head) > 28 and sample.head[5] & 2 == 2


def _is_ogg_audio(sample: Sample) -> bool:
    return _is_ogg(sample) and sample.head[27 + sample.head[26] :].startswith(_AUDIO)


def _is_mp3(sample: Sample) -> bool:
    """Return whether two frames of layer 3 follow each other, at the begin or behind a tag (ID3v2)."""
    tag = sample.head[:10]
    if not tag.startswith(b"ID3"):
        return _has_frames(sample.head, 0)
    if len(tag) < 10 or tag[3] > 4 or any(byte > 0x7F for byte in tag[6:]):
        return False
    size = 10 + sum(byte << shift for byte, shift in zip(tag[6:], (21, 14, 7, 0), strict=True))
    sample.file.seek(size)
    behind = sample.file.read(HEAD)
    # Some programs write zeros behind the tag.
    return any(_has_frames(behind, match.start()) for match in re.finditer(rb"\xff[\xe0-\xff]", behind))


def _has_frames(data: bytes, start: int) -> bool:
    length = _frame(data[start : start + 4])
    return length > 0 and _frame(data[start + length : start + length + 4]) > 0


def _frame(head: bytes) -> int:
    """Return the bytes of an MP3 frame with this header, 0 for anything else."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE6 != 0xE2:  # synchronisation, layer 3
        return 0
    version, bitrate, rate = head[1] >> 3 & 3, head[2] >> 4, head[2] >> 2 & 3
    if version == 1 or bitrate in (0, 15) or rate == 3:
        return 0
    kilobits = _BITRATES[3 if version == 3 else 2][bitrate - 1]
    return (144_000 if version == 3 else 72_000) * kilobits // _RATES[version][rate] + (head[2] >> 1 & 1)


SIGNATURES: dict[str, Callable[[Sample], bool]] = {
    "application/pdf": _is_pdf,
    "application/zip": is_zip,
    "application/vnd.apache.parquet": _is_parquet,
    "video/mp4": _is_mp4,
    "audio/ogg": _is_ogg_audio,
    "application/ogg": _is_ogg,
    "audio/mpeg": _is_mp3,
}


def types_of(sample: Sample) -> Iterator[str]:
    """Yield the types that the content has, the most specific first."""
    return (media_type for media_type, has in SIGNATURES.items() if has(sample))
