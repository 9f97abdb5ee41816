"""The console: an application for the browser. ``source/`` is its TypeScript, ``built/`` what a browser is sent.

``source/`` is also what the account pages are built from, into ``adapters/http/assets/account``.

``built/`` is committed, so that no Python process needs Node; scripts and styles stand there as ``.br`` and ``.gz``
alone. Handlers that serve it are in ``adapters/http/console``.
"""

import gzip
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

BUILT = Path(__file__).parent / "built"
GZ = ".gz"
OF_THE_BUILD = frozenset({"SHA256SUMS", "SOURCE"})
"""Files by which a build is compared; nobody is sent them."""


@lru_cache
def files(folder: Path = BUILT) -> Mapping[str, bytes]:
    """Contents by name, ``app-4F2A91BC.js.br`` for a name compressed at build; empty where nothing was built.

    A file that is there as ``.gz`` is there as it was before as well, for clients that take no coding.
    """
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    by_name = {path.relative_to(folder).as_posix(): path for path in found}
    stored = {name: path.read_bytes() for name, path in by_name.items() if name not in OF_THE_BUILD}
    plain = {name.removesuffix(GZ): gzip.decompress(packed) for name, packed in stored.items() if name.endswith(GZ)}
    return MappingProxyType({**plain, **stored})


def is_built(folder: Path = BUILT) -> bool:
    """Whether there is a page to serve, told without reading it."""
    return (folder / "index.html").is_file()
