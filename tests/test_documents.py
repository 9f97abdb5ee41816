"""The documents name files, links and packages that are there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
EXAMPLES = [path for path in DOCUMENTS if path.name != "CONTRIBUTING.md"]  # whose examples change Tenantry itself

_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_PATH = re.compile(r"`((?:domain|application|adapters|entrypoints|tenantry|tests|benchmarks|docs)/[\w./-]*\w\.\w+)")
_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LAYERS = {"domain", "application", "adapters", "entrypoints"}


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_every_relative_link_leads_somewhere(document: Path) -> None:
    for link in _LINK.findall(document.read_text()):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        file = (document.parent / target).resolve() if target else document
        assert file.exists(), f"{named(document)}: {link}"
        assert not anchor or anchor in anchors(file), f"{named(document)}: {link}"


def anchors(document: Path) -> set[str]:
    """As GitHub makes them of headings: ``## Data and files`` is ``data-and-files``."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", [path for path in DOCUMENTS if path.name != "CHANGELOG.md"], ids=named)
def test_every_file_named_in_a_document_exists(document: Path) -> None:
    missing = [path for path in _PATH.findall(document.read_text()) if not (ROOT / path).exists()]
    assert missing == []


@pytest.mark.parametrize("document", EXAMPLES, ids=named)
def test_examples_import_only_the_public_package(document: Path) -> None:
    for block in _PYTHON.findall(document.read_text()):
        assert {module.split(".")[0] for module in imported(block)}.isdisjoint(_LAYERS)


def imported(block: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_every_row_of_a_table_belongs_to_one() -> None:
    """A blank line within a table ends it: what follows is shown as text."""
    lost = [
        f"{document.relative_to(ROOT)}: {row}"
        for document in DOCUMENTS
        for row in re.findall(r"\n\n(\|.*)\n(?!\|[ :|-]+\|\n)", re.sub(r"(?ms)^```.*?^```", "", document.read_text()))
    ]
    assert lost == []


def test_no_text_of_the_reference_is_torn_into_characters() -> None:
    pages = [page for page in DOCUMENTS if page.parent.name == "reference"]
    assert pages
    torn = {page.name for page in pages if re.search(r"(?m)(^\w\n){4}", page.read_text())}
    assert torn == set()


def test_the_table_of_decisions_lists_each_title_without_a_gap_in_the_numbers() -> None:
    folder = ROOT / "docs" / "decisions"
    paths = sorted(folder.glob("0*.md"))
    titles = [path.read_text().split("\n", 1)[0].removeprefix("# ").split(": ", 1) for path in paths]
    rows = re.findall(r"^\| \[(\d{4})\]\((\S+\.md)\) \| (.+) \|$", (folder / "README.md").read_text(), re.MULTILINE)
    assert rows == [(number, path.name, title) for (number, title), path in zip(titles, paths, strict=True)]
    assert [number for number, _, _ in rows] == [f"{place:04}" for place in range(1, len(paths) + 1)]


def test_every_decision_that_a_file_cites_exists() -> None:
    numbers = {path.name[:4] for path in (ROOT / "docs" / "decisions").glob("0*.md")}
    cited = re.compile(r"\b[Dd]ecisions?[ /](\d{4})\b")
    texts = {path: path.read_text() for path in [*DOCUMENTS, *ROOT.glob("[!.]*/**/*.py")]}
    lost = {str(path): set(cited.findall(text)) - numbers for path, text in texts.items()}
    assert {path: missing for path, missing in lost.items() if missing} == {}
