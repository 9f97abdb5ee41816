"""Modules of users' files that are named by path, imported by the standard machinery under their own names."""

import hashlib
import importlib
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec, spec_from_file_location
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
    """The files by the names of their modules; it stands first on ``sys.meta_path``, and answers for them alone.

    So ``importlib`` keeps a module once for all, forgets one that failed, and annotations find their names in it.
    """

    def __init__(self) -> None:
        self._files: dict[str, Path] = {}

    def name_of(self, file: Path) -> str:
        """``/srv/shop/books.py`` as ``books``, or as ``books_3f1c9a4be2d07715`` where that is another module's name."""
        full = file.expanduser().resolve()
        known = next((name for name, path in self._files.items() if path == full), None)
        if known is not None:
            return known
        # A dot would make the name that of a module in a package.
        digest = hashlib.sha256(str(full).encode()).hexdigest()[:16]
        name = full.stem if _is_found(full) else f"{full.stem.replace('.', '_')}_{digest}"
        self._files[name] = full
        return name

    def file_of(self, module: str) -> Path | None:
        """The path of a module that is one of these files; None for any other."""
        return self._files.get(module)

    def find_spec(self, fullname: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        if (file := self._files.get(fullname)) is None:
            return None
        return spec_from_file_location(fullname, file, loader=_Uncompiled(fullname, str(file)))


def _is_found(file: Path) -> bool:
    """Whether Python finds this very file by its own name, or has imported it so before: no library has the name."""
    # at the end of the path, as a user's folder must not shadow a library
    if (folder := str(file.parent)) not in sys.path:
        sys.path.append(folder)
    importlib.invalidate_caches()  # the file may be a moment old
    try:
        found = find_spec(file.stem) if file.stem.isidentifier() else None
    except ValueError:  # a module without a spec: __main__
        return False
    return found is not None and found.origin is not None and Path(found.origin).resolve() == file


_FILES = DeclarationFiles()
file_of = _FILES.file_of


def import_file(file: Path) -> ModuleType:
    """The module of a file, the same for each path that leads to it. Raises whatever its code raises.

    The files may import each other, and whatever lies beside them: ``from books import Book``.
    """
    if _FILES not in sys.meta_path:
        sys.meta_path.insert(0, _FILES)
    return importlib.import_module(_FILES.name_of(file))
