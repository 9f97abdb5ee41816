"""Modules of users' files that are named by path, imported by the standard machinery under names that never change."""

import hashlib
import importlib
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any


class _Uncompiled(SourceFileLoader):
    """A loader that keeps no compiled file beside the source.

    Python takes a compiled file for current while size and second are those of the source: a file that a program has
    just changed from ``str`` to ``int`` would be read as it was.
    """

    def path_stats(self, path: str) -> Any:
        raise OSError(path)  # as of a source of which nothing is known


class DeclarationFiles(MetaPathFinder):
    """The files by the names of their modules; on ``sys.meta_path`` it is asked for what no other finder knows.

    So ``importlib`` keeps a module once for all, forgets one that failed, and annotations find their names in it.
    """

    def __init__(self) -> None:
        self._files: dict[str, Path] = {}

    def name_of(self, file: Path) -> str:
        """``/srv/shop/books.py`` as ``books_3f1c9a4be2d07715``: another for a file of that name elsewhere."""
        full = file.expanduser().resolve()
        digest = hashlib.sha256(str(full).encode()).hexdigest()[:16]
        # A dot would make the name that of a module in a package.
        name = f"{full.stem.replace('.', '_')}_{digest}"
        self._files[name] = full
        return name

    def file_of(self, module: str) -> Path | None:
        """The path of a module that is one of these files; None for a module with an importable name."""
        return self._files.get(module)

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        file = self._files.get(fullname)
        if file is None:
            return None
        return spec_from_file_location(fullname, file, loader=_Uncompiled(fullname, str(file)))


_FILES = DeclarationFiles()
file_of = _FILES.file_of


def import_file(file: Path) -> ModuleType:
    """The module of a file, the same for each path that leads to it. Raises whatever its code raises."""
    if _FILES not in sys.meta_path:
        sys.meta_path.append(_FILES)
    return importlib.import_module(_FILES.name_of(file))
