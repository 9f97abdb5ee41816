"""``make watch``: runs the tests that belong to a file each time that it is saved, until it is stopped.

A test file belongs to itself. To a module belong the tests that import it, else those that import a module that does,
and so on: the nearest ones only. To another file below ``tests`` or the layers belong the tests that name it.
"""

import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (
    "tenantry",
    "domain",
    "application",
    "adapters",
    "entrypoints",
    "documentation",
    "supply_chain",
    "tests",
    "docs",
)
"""Folders that are watched; environments, data and caches of the project are not."""
PASSED_OVER = {"__pycache__", "node_modules", "built", "source", "golden"}
MOST = 25
"""Test files that one change runs at most: more of them are a matter for ``make test``."""
PAUSE = 0.5
"""Seconds between two looks at the folders."""

_IMPORTED = re.compile(r"^\s*(?:from ([\w.]+) import \(?([\w, ]*)|import ([\w.]+))", re.MULTILINE)

Times = Mapping[Path, int]


def times(root: Path) -> dict[Path, int]:
    """Time of the last change of each watched file, in nanoseconds."""
    found = {}
    for path in _files(root):
        try:
            found[path] = path.stat().st_mtime_ns
        except FileNotFoundError:  # an editor replaces what it saves
            continue
    return found


def changed(before: Times, now: Times) -> list[Path]:
    """Files that are new or were saved in between; those that are gone have no tests."""
    return sorted(path for path, at in now.items() if before.get(path) != at)


def belonging_to(path: Path, root: Path) -> list[Path]:
    """Test files that belong to a file, at most ``MOST``."""
    if path.name.startswith("test_") and path.suffix == ".py":
        return [path]
    if path.suffix != ".py":
        return sorted(file for file in _tests(root) if path.name in file.read_text("utf-8"))[:MOST]
    importers = _importers(root)
    reached, seen = {_module(path, root)}, {path}
    while reached:
        files = {file for module in reached for file in importers.get(module, ())} - seen
        found = sorted(file for file in files if file.name.startswith("test_"))
        if found:
            return found[:MOST]
        seen |= files
        reached = {_module(file, root) for file in files}
    return []


def _files(root: Path) -> Iterator[Path]:
    for folder in FOLDERS:
        yield from _below(root / folder)


def _below(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink() and path.name not in PASSED_OVER:
            yield from _below(path)
        elif path.suffix in {".py", ".md", ".txt", ".json", ".toml"}:
            yield path


def _tests(root: Path) -> Iterator[Path]:
    return (path for path in _below(root / "tests") if path.name.startswith("test_") and path.suffix == ".py")


def _importers(root: Path) -> dict[str, set[Path]]:
    """Files that import each module: ``from adapters.redis import keys`` imports both."""
    found: dict[str, set[Path]] = {}
    for path in _files(root):
        if path.suffix != ".py":
            continue
        for package, names, module in _IMPORTED.findall(path.read_text("utf-8")):
            parts = [name.split(" as ")[0].strip() for name in names.split(",")]
            for name in {module or package, *(f"{package}.{part}" for part in parts if part)}:
                found.setdefault(name, set()).add(path)
    return found


def _module(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def main() -> None:
    before = times(ROOT)
    sys.stdout.write("Watching: save a file. Ctrl-C ends it.\n")
    while True:
        time.sleep(PAUSE)
        now = times(ROOT)
        saved, before = changed(before, now), now
        files = sorted({test for path in saved for test in belonging_to(path, ROOT)})[:MOST]
        if not saved:
            continue
        names = ", ".join(str(path.relative_to(ROOT)) for path in saved)
        sys.stdout.write(f"\n{names}: {len(files)} test files\n")
        if files:
            subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-x", *map(str, files), *sys.argv[1:]], cwd=ROOT, check=False
            )


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(0)
