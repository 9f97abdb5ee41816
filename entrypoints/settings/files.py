"""Settings in ``tenantry.toml`` and ``.env`` of the current folder. The environment overrides both."""

import difflib
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

TOML, ENV = "tenantry.toml", ".env"
_QUOTES = ("'", '"')
_COMMENT = re.compile(r"(?:^|\s)#")


@dataclass
class FileSettings:
    """Variables set in files, by name with the prefix; ``origins`` has the file of each, for messages."""

    values: dict[str, str] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    mistakes: list[str] = field(default_factory=list)

    def add(self, file: str, values: Mapping[str, str]) -> None:
        self.values |= values
        self.origins |= dict.fromkeys(values, file)


def read_files(folder: Path, prefix: str, known: Collection[str], secrets: Collection[str]) -> FileSettings:
    """Return settings of the folder's files; ``known`` are the names of variables without the prefix.

    Messages never contain values of ``secrets``, a subset of these names.
    """
    found = FileSettings()
    if _is_file(path := folder / TOML, found.mistakes):
        found.add(TOML, _toml(path, prefix, known, secrets, found.mistakes))
    # Read this file second, because the file for this machine has priority over the project's file.
    if _is_file(path := folder / ENV, found.mistakes):
        found.add(ENV, _dotenv(path, prefix, found.mistakes))
    return found


def _is_file(path: Path, mistakes: list[str]) -> bool:
    # A Python environment may be a folder with the name of a settings file, so ignore it.
    is_folder = path.is_dir() and not (path / "pyvenv.cfg").exists()
    if is_folder or (path.is_symlink() and not path.exists()):
        what = "a folder" if is_folder else "a link to nothing"
        mistakes.append(f"{path.name} is {what}; put a file with settings in its place, or remove it.")
    return path.is_file()


def read_secret_file(name: str, path: Path, mistakes: list[str]) -> str | None:
    """Read the file named by the variable ``name``, without the final line break."""
    text = _read(path, f"{name}: {path}", mistakes)
    if text is not None and not text.strip():
        mistakes.append(f"{name}: {path} is empty.")
        return None
    return text and text.removesuffix("\n").removesuffix("\r")


def _read(path: Path, name: str, mistakes: list[str]) -> str | None:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        mistakes.append(f"{name} is not UTF-8.")
    except OSError as error:
        mistakes.append(f"{name} cannot be read: {error.strerror}.")
    return None


def _toml(
    path: Path, prefix: str, known: Collection[str], secrets: Collection[str], mistakes: list[str]
) -> dict[str, str]:
    text = _read(path, TOML, mistakes)
    try:
        document = tomllib.loads(text or "")
    except tomllib.TOMLDecodeError as error:
        mistakes.append(f"{TOML} is not valid TOML: {error}.")
        return {}
    keys = [name.lower() for name in known]
    values: dict[str, str] = {}
    for key, given in document.items():
        if key not in keys:
            near = difflib.get_close_matches(key.lower().removeprefix(prefix.lower()), keys, n=1)
            hint = f"; did you mean {near[0]}?" if near else "."
            mistakes.append(f"{TOML}: {key} is not a setting{hint}")
        elif (value := _text(given)) is None:
            got = f"a {type(given).__name__} (not shown)" if key.upper() in secrets else repr(given)
            mistakes.append(f"{TOML}: {key} got {got}; it must be a text, a number, true, false or a list of texts.")
        else:
            values[prefix + key.upper()] = value
    return values


def _text(given: object) -> str | None:
    """Value as in an environment variable; lists are separated by commas."""
    # before numbers, because Python's bool is an int
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, int):
        return str(given)
    if isinstance(given, list) and all(isinstance(part, str) and "," not in part for part in given):
        return ",".join(given)
    return given if isinstance(given, str) else None


def _dotenv(path: Path, prefix: str, mistakes: list[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for number, name, text in _assignments((_read(path, ENV, mistakes) or "").splitlines()):
        # Ignore other names, because they belong to other programs, such as Docker Compose.
        if not name.startswith(prefix):
            continue
        if text is None:
            mistakes.append(f"{ENV}: line {number} sets {name} to nothing that can be read: write {name}=value.")
        else:
            values[name] = text
    return values


def _assignments(lines: list[str]) -> Iterator[tuple[int, str, str | None]]:
    for number, line in enumerate(lines, 1):
        stripped = line.strip().removeprefix("export ").lstrip()
        if stripped and not stripped.startswith("#"):
            name, is_set, text = stripped.partition("=")
            yield number, name.strip(), _unquoted(text.strip()) if is_set else None


def _unquoted(text: str) -> str | None:
    """Return the value without quotes or a comment, or None if a quote is not closed."""
    if text.startswith(_QUOTES):
        value, closing, rest = text[1:].partition(text[0])
        return value if closing and (not rest.strip() or rest.strip().startswith("#")) else None
    return _COMMENT.split(text, maxsplit=1)[0].rstrip()
