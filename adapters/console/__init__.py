"""The console: an application for the browser. ``source/`` is its TypeScript, ``built/`` what a browser is sent.

``built/`` is committed, so that no Python process needs Node. Handlers that serve it are in ``adapters/http/console``.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

BUILT = Path(__file__).parent / "built"
OF_THE_BUILD = frozenset({"SHA256SUMS", "SOURCE"})
"""Files by which a build is compared; nobody is sent them."""


@lru_cache
def files(folder: Path = BUILT) -> Mapping[str, bytes]:
    """Contents by name, ``app-4F2A91BC.js.br`` for a name compressed at build; empty where nothing was built."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    by_name = {path.relative_to(folder).as_posix(): path for path in found}
    return MappingProxyType({name: path.read_bytes() for name, path in by_name.items() if name not in OF_THE_BUILD})


def is_built(folder: Path = BUILT) -> bool:
    """Whether there is a page to serve, told without reading it."""
    return (folder / "index.html").is_file()
