"""Puts a changed function into modules that are imported already: functions that stand in memory get its code."""

import gc
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from types import CodeType, FunctionType

from tests.mutation.changes import Mutant

Place = tuple[str, str, int]
"""File, qualified name and first line of a function."""

NEW_LOCALS = 0x2
"""Flag of code that has variables of its own, as functions have and neither modules nor bodies of classes."""


class Functions:
    """All functions of a folder's modules, as they stand in memory."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._found: dict[Place, list[FunctionType]] = {}
        for found in gc.get_objects():
            if isinstance(found, FunctionType) and found.__code__.co_filename.startswith(str(root)):
                self._found.setdefault(_place(found.__code__), []).append(found)

    def change(self, mutant: Mutant) -> bool:
        """False where the change is in what a module or class runs while it is imported."""
        file = self._root / mutant.path
        before = compile(file.read_text(), str(file), "exec", dont_inherit=True)
        after = compile(mutant.tree, str(file), "exec", dont_inherit=True)
        paths = list(_changed(before, after))
        if not paths or not all(any(map(self._of, path)) for path in paths):
            return False
        try:
            for path in paths:
                for code in path:
                    for function in self._of(code):
                        function.__code__ = code
        except ValueError:  # the change takes away a variable of the function around
            return False
        return True

    def _of(self, code: CodeType) -> list[FunctionType]:
        return self._found.get(_place(code), [])


def _place(code: CodeType) -> Place:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _changed(before: CodeType, after: CodeType) -> Iterator[tuple[CodeType, ...]]:
    """For each piece of code that differs by itself: its new form and those of all functions that it stands in.

    Nothing for a module or the body of a class.
    """
    own = (after,) if after.co_flags & NEW_LOCALS else ()
    if _without_inner(before) != _without_inner(after):
        yield own
    for old, new in zip_longest(_inner(before), _inner(after)):
        if old is not None and new is not None and old != new:
            for path in _changed(old, new):
                yield own + path if path else ()


def _inner(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _without_inner(code: CodeType) -> CodeType:
    return code.replace(co_consts=tuple(None if isinstance(each, CodeType) else each for each in code.co_consts))
