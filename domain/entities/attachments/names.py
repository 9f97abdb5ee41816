"""Names of files: for display and download only, never part of a key or path."""

import re
import unicodedata
from typing import Literal
from urllib.parse import quote

LONGEST_NAME = 255
UNNAMED = "file"
_READ = 4 * LONGEST_NAME
"""Maximum characters before normalisation: it takes quadratic time for a long run of accents."""
_LONGEST_EXTENSION = 32
_REMOVED = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Unicode categories: control characters, surrogates, and separators of lines and paragraphs."""
_BIDIRECTIONAL = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Windows opens these devices in place of a file, whatever the extension.
_DEVICE = re.compile(r"(?:CON|PRN|AUX|NUL|COM[0-9¹²³]|LPT[0-9¹²³])(?:\..*)?", re.IGNORECASE | re.DOTALL)
_UNSAFE = re.compile(r"[^ !#$&\'()+,\-.0-9;=@A-Z\[\]^_`a-z{}~]")
_UNESCAPED = "!#$&+-.^_`|~"
"""Characters that ``filename*`` may contain in addition to letters and digits (RFC 8187)."""

Disposition = Literal["inline", "attachment"]


def clean_name(sent: str) -> str:
    """Return a name of at most ``LONGEST_NAME`` characters (NFC) without path, control and bidirectional characters.

    Examples: ``../../x`` is ``x``, ``C:\\photos\\a.png`` is ``a.png``, ``CON`` is ``_CON``, an empty name is ``file``.
    """
    name = _shortened(re.split(r"[/\\]", sent)[-1], _READ)
    kept = "".join(c for c in name if unicodedata.category(c) not in _REMOVED and c not in _BIDIRECTIONAL)
    # Leading dots hide files; Windows removes dots and spaces at the end.
    name = unicodedata.normalize("NFC", kept).strip(". \u00a0")
    if _DEVICE.fullmatch(name):
        name = f"_{name}"
    return _shortened(name, LONGEST_NAME).strip(". \u00a0") or UNNAMED


def _shortened(name: str, longest: int) -> str:
    """Cut the name before its extension."""
    if len(name) <= longest:
        return name
    stem, dot, extension = name.rpartition(".")
    if not stem or len(extension) > _LONGEST_EXTENSION:
        return name[:longest]
    return stem[: longest - 1 - len(extension)] + dot + extension


def content_disposition(disposition: Disposition, name: str) -> str:
    """Return the header of a download (RFC 6266): the name in ASCII for old clients, and ``filename*`` for all others.

    Example: ``attachment; filename="Uber.pdf"; filename*=UTF-8''%C3%9Cber.pdf``.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    stem, dot, extension = _UNSAFE.sub("_", plain).rpartition(".")
    fallback = f"{stem.strip() or UNNAMED}{dot}{extension}" if dot else extension.strip() or UNNAMED
    return f"{disposition}; filename=\"{fallback}\"; filename*=UTF-8''{quote(name, safe=_UNESCAPED)}"
