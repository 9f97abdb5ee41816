"""Where a name is read that is set while a module is imported: no test reaches the line that sets the name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

Places = list[tuple[str, range]]
"""Lines of files."""


def readers_of(root: Path, files: list[Path], path: str, line: int) -> Places:
    """Lines that name what the statement at this line sets; none for a statement in a function."""
    names = set(_set_at(ast.parse((root / path).read_text()), line))
    if not names:
        return []
    named = re.compile(rf"\b(?:{'|'.join(sorted(names))})\b")
    return [
        (str(file.relative_to(root)), range(number, number + 1))
        for file in files
        for number, text in enumerate(file.read_text().splitlines(), 1)
        if named.search(text)
    ]


def _set_at(tree: ast.Module | ast.ClassDef, line: int) -> Iterator[str]:
    for statement in tree.body:
        if not statement.lineno <= line <= (statement.end_lineno or statement.lineno):
            continue
        if isinstance(statement, ast.ClassDef):
            yield from _set_at(statement, line)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            yield from (found.id for target in targets for found in ast.walk(target) if isinstance(found, ast.Name))
