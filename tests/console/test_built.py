"""The committed build of the console: made of these sources, complete, and within its budgets."""

import gzip
import json
import re
from hashlib import sha256
from pathlib import Path

import pytest

CONSOLE = Path(__file__).resolve().parents[2] / "adapters" / "console"
SOURCE, BUILT = CONSOLE / "source", CONSOLE / "built"
SOURCES = [path for path in SOURCE.rglob("*") if path.is_file() and "node_modules" not in path.parts]
WRITTEN = [path for path in SOURCES if path.suffix in {".ts", ".tsx", ".css", ".mjs", ".json"}]
KILO = 1_000


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def test_the_build_is_of_these_sources() -> None:
    names = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCES)
    listed = "".join(f"{digest(SOURCE / name)}  {name}\n" for name in names)
    now = sha256(listed.encode()).hexdigest()
    assert (BUILT / "SOURCE").read_text().strip() == now, "adapters/console/source changed: run make console"


def test_every_file_of_the_build_is_as_it_was_made() -> None:
    lines = [line.split("  ") for line in (BUILT / "SHA256SUMS").read_text().splitlines()]
    listed = {name: digested for digested, name in lines}
    there = {path.name: digest(path) for path in BUILT.iterdir() if path.name != "SHA256SUMS"}
    assert listed == there


def test_the_page_names_files_that_are_there_and_nothing_else() -> None:
    page = (BUILT / "index.html").read_text()
    named = re.findall(r'(?:src|href)="/console/([^"]+)"', page)
    assert named
    assert all((BUILT / name).is_file() for name in named)
    assert not re.search(r"<script[^>]*>[^<]|<style|style=|\son\w+=|https?:", page)


def first_load() -> list[Path]:
    """Scripts that the browser fetches before it shows a screen: those that the page names."""
    named = re.findall(r'"/console/([^"]+\.js)"', (BUILT / "index.html").read_text())
    return [BUILT / name for name in named]


def packed(path: Path) -> int:
    return len(gzip.compress(path.read_bytes(), 9))


def test_the_console_stays_small() -> None:
    first = first_load()
    later = [path for path in BUILT.glob("*.js") if path not in first]
    assert sum(map(packed, first)) <= 60 * KILO
    assert sum(map(packed, later)) <= 90 * KILO
    assert sum(map(packed, BUILT.glob("*.css"))) <= 12 * KILO
    assert sum(path.stat().st_size for path in BUILT.iterdir()) <= 400 * KILO


def test_styles_stay_small() -> None:
    assert (SOURCE / "src/styles/tokens.css").stat().st_size <= 15 * KILO


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_a_source_file_fits_a_few_screens(path: Path) -> None:
    # made by programs: the lock, and the types of the API
    if path.name not in {"package-lock.json", "types.ts"}:
        assert len(path.read_text().splitlines()) <= 350


def test_the_lock_names_no_registry_and_no_install_script() -> None:
    packages = json.loads((SOURCE / "package-lock.json").read_text())["packages"]
    assert all(package.get("integrity") for name, package in packages.items() if name)
    assert not [name for name, package in packages.items() if "resolved" in package]
    assert "ignore-scripts=true" in (SOURCE / ".npmrc").read_text().splitlines()


def texts(language: str) -> dict[str, str]:
    parts = (json.loads(path.read_text()) for path in (SOURCE / "src/words" / language).glob("*.json"))
    return {key: text for part in parts for key, text in part.items()}


@pytest.mark.parametrize("language", ["de"])
def test_a_translation_has_every_text_with_every_place(language: str) -> None:
    english, other = texts("en"), texts(language)
    assert other.keys() == english.keys()
    for key, text in english.items():
        assert sorted(re.findall(r"\{\w+\}", text)) == sorted(re.findall(r"\{\w+\}", other[key])), key


def test_licences_of_what_is_built_in_come_along() -> None:
    text = (BUILT / "LICENCES.txt").read_text()
    for name in json.loads((SOURCE / "package.json").read_text())["dependencies"]:
        assert f"{name} " in text
    assert "lucide-static " in text
