"""The console: a browser application with TypeScript in ``source/`` and built files in ``built/``.

The account pages are also built from ``source/``, into ``adapters/http/assets/account``.

``built/`` is committed, so that Python processes do not need Node. Scripts and styles are stored only as ``.br`` and
``.gz``. The handlers are in ``adapters/http/console``.
"""

import gzip
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

BUILT = Path(__file__).parent / "built"
GZ = ".gz"
OF_THE_BUILD = frozenset({"SHA256SUMS", "SOURCE"})
"""Files for comparing builds, not served."""


@lru_cache
def files(folder: Path = BUILT) -> Mapping[str, bytes]:
    """Return file contents by name, such as ``app-4F2A91BC.js.br``; empty before a build.

    ``.gz`` files are also returned uncompressed, for clients without compression.
    """
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    by_name = {path.relative_to(folder).as_posix(): path for path in found}
    stored = {name: path.read_bytes() for name, path in by_name.items() if name not in OF_THE_BUILD}
    plain = {name.removesuffix(GZ): gzip.decompress(packed) for name, packed in stored.items() if name.endswith(GZ)}
    return MappingProxyType({**plain, **stored})


def is_built(folder: Path = BUILT) -> bool:
    """Return whether the console page exists."""
    return (folder / "index.html").is_file()
