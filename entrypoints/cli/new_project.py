"""``tenantry init``: files of a new project, stored as texts next to this module."""

from pathlib import Path

from entrypoints.terminal.errors import SETTINGS, CommandError, writing

TEXTS = Path(__file__).parent / "project"
FILES = {
    "books.py": "books.py.txt",
    "test_books.py": "test_books.py.txt",
    "tenantry.toml": "tenantry.toml.txt",
    "pytest.ini": "pytest.ini.txt",
    "compose.yaml": "compose.yaml.txt",
    "Dockerfile": "Dockerfile.txt",
    "README.md": "README.md.txt",
    ".gitignore": "gitignore.txt",
    ".dockerignore": "dockerignore.txt",
}
"""Files of a project, and their templates."""

MIGRATIONS = "migrations"


def make_project(folder: Path) -> str:
    """Write the project's files; return the next steps. Raises CommandError, and writes nothing, if a file exists."""
    with writing(folder, "name a new folder where this account may write"):
        _write(folder)
    into = "" if folder == Path() else f"cd {folder}\n"
    return f'Written: {", ".join(FILES)}.\n{into}tenantry migrate --write "books"\ntenantry migrate\ntenantry serve'


def _write(folder: Path) -> None:
    there = [name for name in (*FILES, MIGRATIONS) if (folder / name).exists()]
    # Write nothing if a file exists, because a partial project among other files is hard to remove.
    if there:
        raise CommandError(
            f"{folder} has {', '.join(there)} already, and nothing was written: name a new folder.", SETTINGS
        )
    (folder / MIGRATIONS).mkdir(parents=True)
    # Git does not store empty folders
    (folder / MIGRATIONS / ".gitkeep").touch()
    for name, text in FILES.items():
        (folder / name).write_text((TEXTS / text).read_text("utf-8"), "utf-8")
