"""The committed build of the console: made of these sources, complete, and within its budgets.

Names that somebody sends become no properties of a prototype: ASVS 15.3.6, in all JavaScript that is served.

A prototype is reached by a name such as ``__proto__`` in two ways: an assignment below a member that a name chose
(``found[a][b] = c``), or code that copies objects deeply. Neither is here, and what is assigned by a name is listed.

Pictures with a palette show what the browser drew.
"""

import json
import re
import struct
import zlib
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import pytest

from adapters import console
from adapters.http.request.errors import NAMES, STATUS, code_in
from domain.parts.composition import PARTS
from tests.console.pictures import HEAD, chunk, read_pixels, with_palette

CONSOLE = Path(__file__).resolve().parents[2] / "adapters" / "console"
SOURCE, BUILT = CONSOLE / "source", CONSOLE / "built"
SOURCES = [path for path in SOURCE.rglob("*") if path.is_file() and "node_modules" not in path.parts]
SHARED = [
    f"../../../domain/words/{language}/{name}.json"
    for name in ("answers", "common", "console-answers", "pages")
    for language in ("de", "en")
]
"""Texts that the service reads as well."""
WRITTEN = [path for path in SOURCES if path.suffix in {".ts", ".tsx", ".css", ".mjs", ".json"}]
KILO = 1_000
TRANSFERRED = 90
"""Kilobytes of scripts and styles that a browser fetches at first, and of scripts that follow later."""


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


@pytest.mark.promise("console, budgets: the build is that of the sources, byte for byte, and needs no Node to run")
def test_the_build_is_of_these_sources() -> None:
    names = [*sorted(path.relative_to(SOURCE).as_posix() for path in SOURCES), *SHARED]
    listed = "".join(f"{digest(SOURCE / name)}  {name}\n" for name in names)
    now = sha256(listed.encode()).hexdigest()
    assert (BUILT / "SOURCE").read_text().strip() == now, "adapters/console/source changed: run make console"


@pytest.mark.promise("console, budgets: the build is that of the sources, byte for byte, and needs no Node to run")
def test_every_file_of_the_build_is_as_it_was_made() -> None:
    lines = [line.split("  ") for line in (BUILT / "SHA256SUMS").read_text().splitlines()]
    listed = {name: digested for digested, name in lines}
    there = {path.name: digest(path) for path in BUILT.iterdir() if path.name != "SHA256SUMS"}
    assert listed == there


def test_the_page_names_files_that_are_there_and_nothing_else() -> None:
    page = (BUILT / "index.html").read_text()
    named = re.findall(r'(?:src|href)="/console/([^"]+)"', page)
    assert named
    assert set(named) <= set(console.files())
    assert not re.search(r"<script[^>]*>[^<]|<style|style=|\son\w+=|https?:", page)


def test_each_script_and_style_is_stored_in_two_codings_and_nowhere_plain() -> None:
    kept = [path.name for path in BUILT.iterdir() if ".js" in path.suffixes or ".css" in path.suffixes]
    plain = {name.removesuffix(".gz") for name in kept if name.endswith(".gz")}
    assert sorted(kept) == sorted(f"{name}{coding}" for name in plain for coding in (".br", ".gz"))


def first_load() -> set[str]:
    """Scripts that the browser fetches before it shows a screen: those that the page names."""
    return set(re.findall(r'"/console/([^"]+\.js)"', (BUILT / "index.html").read_text()))


def packed(names: Iterable[str]) -> int:
    return sum(len(console.files()[f"{name}.gz"]) for name in names)


@pytest.mark.promise("console, budgets: 90 kB of scripts and styles at the first load, 90 kB later, 400 kB in built")
def test_the_console_stays_small() -> None:
    first = first_load()
    scripts = {name for name in console.files() if name.endswith(".js")}
    styles = {name for name in console.files() if name.endswith(".css")}
    assert packed(first | styles) <= TRANSFERRED * KILO
    assert packed(scripts - first) <= TRANSFERRED * KILO
    assert sum(path.stat().st_size for path in BUILT.iterdir()) <= 400 * KILO
    # what a browser reads once it is unpacked, each language included
    assert sum(len(console.files()[name]) for name in scripts | styles) <= 500 * KILO


@pytest.mark.promise("console, budgets: 15 kB of tokens of styles")
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
    common = SOURCE.parents[2] / "domain" / "words" / language / "common.json"
    parts = (json.loads(path.read_text()) for path in [common, *(SOURCE / "src/words" / language).glob("*.json")])
    return {key: text for part in parts for key, text in part.items()}


@pytest.mark.parametrize("language", ["de"])
def test_a_translation_has_every_text_with_every_place(language: str) -> None:
    english, other = texts("en"), texts(language)
    assert other.keys() == english.keys()
    for key, text in english.items():
        assert sorted(re.findall(r"\{\w+\}", text)) == sorted(re.findall(r"\{\w+\}", other[key])), key


@pytest.mark.promise("console, journeys: German, errors of the API included")
@pytest.mark.parametrize("language", ["en", "de"])
def test_every_code_that_the_api_can_answer_has_words(language: str) -> None:
    answered = {code_in(area, code) for area in ("A", "B") for code in STATUS}
    # the console asks for no token as a program does
    unreachable = set(NAMES["OAuth"].values())
    spoken = {key.removeprefix("error.") for key in texts(language) if re.fullmatch(r"error\.[A-Z_]+", key)}
    assert spoken == answered
    assert unreachable.isdisjoint(answered)


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_action_of_a_part_that_the_console_knows_has_words(language: str) -> None:
    """The console shows an action without words by its code: a part that is new has words for all actions or none."""
    spoken = {key.removeprefix("event.") for key in texts(language) if key.startswith("event.")}
    known = [part.audit_actions.keys() for part in PARTS if part.audit_actions.keys() & spoken]
    assert spoken == {action for actions in known for action in actions}


def test_licences_of_bundled_packages_are_included() -> None:
    text = (BUILT / "LICENCES.txt").read_text()
    for name in json.loads((SOURCE / "package.json").read_text())["dependencies"]:
        assert f"{name} " in text
    assert "lucide-static " in text


ROOT = Path(__file__).resolve().parents[2]
CONSOLE_OF_PROTOTYPES = ROOT / "adapters" / "console" / "source"
ASSETS = ROOT / "adapters" / "http" / "assets"
OTHERS = ("swagger-ui-bundle.js",)
"""Made elsewhere: held to the text that was reviewed by assets/SHA256SUMS."""

BY_NAME = re.compile(r"([\w)\]][!?]?)\[([^\]]+)\]\s*(?:[-+*/|&?]{1,2})?=(?![=>])")
LITERAL = re.compile(r"""["'][^"']*["']|\d+""")
BELOW = re.compile(r"\][!?]?\.?\[[^\]]+\]\s*=(?![=>])|\][!?]?\.\w+\s*=(?![=>])")
DEEP = re.compile(r"__proto__|setPrototypeOf|\.prototype\b|defineProperty|\b(?:deep)?[mM]erge\w*\(|\bfor\s*\([^)]* in ")

ASSIGNED = {
    "src/files/matching.ts: found[column] = field.name;": "a text, which the setter of __proto__ ignores",
    "src/forms/reference.tsx: else if (target.display) query[`${target.display}.contains`] = typed;": "has a dot in it",
    'src/forms/Form.tsx: if (known.has(field)) found[field] = [found[field], message].filter(Boolean).join("; ");': (
        "a text, under the name of a declared field"
    ),
}
"""Assignments to a member whose name is no literal, each with the reason why it reaches no prototype."""


def lines() -> list[str]:
    console = [file for file in (CONSOLE_OF_PROTOTYPES / "src").rglob("*.ts*") if file.is_file()]
    pages = [file for file in ASSETS.glob("*.js") if file.name not in OTHERS]
    assert len(console) > 50
    assert len(pages) > 3
    return [
        f"{file.relative_to(CONSOLE_OF_PROTOTYPES if file in console else ASSETS)}: {line.strip()}"
        for file in (*console, *pages)
        for line in file.read_text("utf-8").splitlines()
    ]


def by_name(line: str) -> bool:
    return any(not LITERAL.fullmatch(name) for _, name in BY_NAME.findall(line))


def test_assignments_by_a_computed_name_are_listed_with_their_reasons() -> None:
    assert {line for line in lines() if by_name(line)} == ASSIGNED.keys()


def test_nothing_is_assigned_below_a_name_and_nothing_copies_deeply() -> None:
    assert [line for line in lines() if BELOW.search(line) or DEEP.search(line)] == []


@pytest.mark.parametrize(
    "line",
    [
        "found[a][b] = c;",
        "kept[name].title = text;",
        "kept[name]![other] = text;",
        "target.__proto__ = source;",
        "Object.prototype.x = 1;",
        "merge(target, source);",
        "for (const key in source) copy(key);",
    ],
)
def test_what_reaches_a_prototype_is_seen(line: str) -> None:
    assert BELOW.search(line) or DEEP.search(line)
    assert not BELOW.search("const [first, second] = parts;")
    assert not by_name('headers["X-Tenant-Scope"] = scope;')


def test_no_library_that_copies_objects_is_in_the_console() -> None:
    assert set(json.loads((CONSOLE_OF_PROTOTYPES / "package.json").read_text())["dependencies"]) == {
        "@preact/signals",
        "preact",
    }


def picture(width: int, rows: list[bytes]) -> bytes:
    """A picture as browsers write it; each row begins with the way in which it was filtered."""
    header = struct.pack(">IIBBBBB", width, len(rows), 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(b"".join(rows))), (b"IEND", b""))
    return HEAD + b"".join(chunk(kind, data) for kind, data in parts)


def test_rows_are_read_whichever_way_they_were_filtered() -> None:
    colours = [(10, 20, 30), (200, 100, 0)]
    plain = bytes([10, 20, 30, 200, 100, 0])
    left = bytes([10, 20, 30, 190, 80, 226])
    # the same row again: nothing differs from above, nor from the nearest of the three neighbours
    rows = [b"\0" + plain, b"\1" + left, b"\2" + bytes(6), b"\4" + bytes(6), b"\3" + bytes([5, 10, 15, 95, 40, 241])]
    assert read_pixels(picture(2, rows)) == (2, 5, colours * 5)


def test_a_palette_uses_the_frequent_colours_and_the_nearest_for_the_others() -> None:
    pixels = [(n, n, n) for n in range(256) for _ in range(2)] + [(7, 7, 8)]
    small = with_palette(picture(len(pixels), [b"\0" + bytes(part for pixel in pixels for part in pixel)]))
    palette = small[small.index(b"PLTE") + 4 :]
    places = zlib.decompress(small[small.index(b"IDAT") + 4 : -16])[1:]
    assert [tuple(palette[place * 3 : place * 3 + 3]) for place in places] == [*pixels[:-1], (7, 7, 7)]
