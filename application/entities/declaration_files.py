"""Declaration files given by path, imported by the standard machinery under their own names."""

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
    """Loader that ignores compiled files.

    Python accepts one if size and second match the source: a file just changed from ``str`` to ``int`` would be loaded
    in its old form.
    """

    def path_stats(self, path: str) -> Any:
        raise OSError(path)  # as for an unknown source


class DeclarationFiles(MetaPathFinder):
    """Declaration files by module name. The finder is first on ``sys.meta_path``, and answers only for these files.

    So ``importlib`` caches each module once and forgets failed ones, and annotations find their names in the module.
    """

    def __init__(self) -> None:
        self._files: dict[str, Path] = {}

    def name_of(self, file: Path) -> str:
        """Return ``/srv/shop/books.py`` as ``books``, or ``books_3f1c9a4be2d07715`` if another module has the name."""
        full = file.expanduser().resolve()
        known = next((name for name, path in self._files.items() if path == full), None)
        if known is not None:
            return known
        # A dot would make the name that of a submodule.
        digest = hashlib.sha256(str(full).encode()).hexdigest()[:16]
        name = full.stem if _is_found(full) else f"{full.stem.replace('.', '_')}_{digest}"
        self._files[name] = full
        return name

    def file_of(self, module: str) -> Path | None:
        """Return the path of a module that is one of these files, else None."""
        return self._files.get(module)

    def find_spec(self, fullname: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        if (file := self._files.get(fullname)) is None:
            return None
        return spec_from_file_location(fullname, file, loader=_Uncompiled(fullname, str(file)))


def _is_found(file: Path) -> bool:
    """Return whether Python finds this file by its name: False if a library has the same name."""
    # Append the folder to the path: a user's folder must not shadow a library.
    if (folder := str(file.parent)) not in sys.path:
        sys.path.append(folder)
    importlib.invalidate_caches()  # the file may be new
    try:
        found = find_spec(file.stem) if file.stem.isidentifier() else None
    except ValueError:  # a module without a spec: __main__
        return False
    return found is not None and found.origin is not None and Path(found.origin).resolve() == file


_FILES = DeclarationFiles()
file_of = _FILES.file_of


def import_file(file: Path) -> ModuleType:
    """Return a file's module, the same for each path to the file. Raises any error of its code.

    Files may import each other and modules next to them: ``from books import Book``.
    """
    if _FILES not in sys.meta_path:
        sys.meta_path.insert(0, _FILES)
    return importlib.import_module(_FILES.name_of(file))
