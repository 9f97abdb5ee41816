"""``tenantry init``: the files of a new project, which are texts beside this module."""

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
"""Files of a project, and the texts that they are made of."""

MIGRATIONS = "migrations"


def make_project(folder: Path) -> str:
    """Writes the files and says what comes next. Raises CommandError where a file is there already, and writes none."""
    with writing(folder, "name a new folder where this account may write"):
        _write(folder)
    into = "" if folder == Path() else f"cd {folder}\n"
    return f'Written: {", ".join(FILES)}.\n{into}tenantry migrate --write "books"\ntenantry migrate\ntenantry serve'


def _write(folder: Path) -> None:
    there = [name for name in (*FILES, MIGRATIONS) if (folder / name).exists()]
    # half a project among somebody's files would be harder to remove than to write
    if there:
        raise CommandError(
            f"{folder} has {', '.join(there)} already, and nothing was written: name a new folder.", SETTINGS
        )
    (folder / MIGRATIONS).mkdir(parents=True)
    # Git keeps no empty folder
    (folder / MIGRATIONS / ".gitkeep").touch()
    for name, text in FILES.items():
        (folder / name).write_text((TEXTS / text).read_text("utf-8"), "utf-8")
