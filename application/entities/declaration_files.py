"""Modules of users' files that are named by path, imported by the standard machinery under names that never change."""

import hashlib
import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location, spec_from_loader
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


class _OtherName(Loader):
    """A loader that imports a file under the name of this module as well, as one and the same module."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def exec_module(self, module: ModuleType) -> None:
        # importlib looks here for what a module has put in its own place
        sys.modules[module.__name__] = import_file(self._file)


class DeclarationFiles(MetaPathFinder):
    """The files by the names of their modules, and what lies beside them by its own name.

    So ``importlib`` keeps a module once for all, forgets one that failed, and annotations find their names in it. A
    name that is somebody else's stays theirs: it stands first on ``sys.meta_path``, and asks all other finders.
    """

    def __init__(self) -> None:
        self._files: dict[str, Path] = {}
        self._folders: dict[Path, None] = {}

    def name_of(self, file: Path) -> str:
        """``/srv/shop/books.py`` as ``books_3f1c9a4be2d07715``: another for a file of that name elsewhere."""
        full = file.expanduser().resolve()
        digest = hashlib.sha256(str(full).encode()).hexdigest()[:16]
        # A dot would make the name that of a module in a package.
        name = f"{full.stem.replace('.', '_')}_{digest}"
        self._files[name] = full
        self._folders.pop(full.parent, None)
        self._folders[full.parent] = None  # the last of them is that of the file which is imported now
        return name

    def file_of(self, module: str) -> Path | None:
        """The path of a module that is one of these files; None for a module with an importable name."""
        return self._files.get(module)

    def find_spec(self, fullname: str, path: object = None, _: object = None) -> ModuleSpec | None:
        if (file := self._files.get(fullname)) is not None:
            return spec_from_file_location(fullname, file, loader=_Uncompiled(fullname, str(file)))
        # a path is that of a package, which finds what is in it by itself
        return None if path is not None else self._beside(fullname)

    def _beside(self, name: str) -> ModuleSpec | None:
        """A file, or a package, beside one of the files."""
        for folder in reversed(self._folders):
            file = folder / f"{name}.py"
            if file.is_file():
                other = self._others(name)
                is_ours = other is None or (other.origin is not None and _is_same(other.origin, file))
                return spec_from_loader(name, _OtherName(file)) if is_ours else None
            if (folder / name).is_dir() and self._others(name) is None:
                return PathFinder.find_spec(name, [str(folder)])
        return None

    def _others(self, name: str) -> ModuleSpec | None:
        found = (finder.find_spec(name, None) for finder in sys.meta_path if finder is not self)
        return next((spec for spec in found if spec is not None), None)


def _is_same(path: str, file: Path) -> bool:
    return Path(path).resolve() == file.resolve()


_FILES = DeclarationFiles()
file_of = _FILES.file_of


def import_file(file: Path) -> ModuleType:
    """The module of a file, the same for each path that leads to it. Raises whatever its code raises.

    The files may import each other, and whatever lies beside them: ``from books import Book``.
    """
    if _FILES not in sys.meta_path:
        sys.meta_path.insert(0, _FILES)
    name = _FILES.name_of(file)
    # a module that was imported by its own name before, by a test for instance: its classes are those that are meant
    imported = sys.modules.get(file.stem)
    place = getattr(imported, "__file__", None)
    if name not in sys.modules and imported is not None and place is not None and _is_same(place, file.expanduser()):
        sys.modules[name] = imported
    return importlib.import_module(name)
