"""What the guides say: their commands and settings exist, their figures and queries are those of the code.

docs/reference is what the code says: the pages are compared, and what they list with what is written and served.
"""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import rich_click as click

from adapters.http.request.body import BATCH_BODY, ENTITY_BODY, IDENTITY_BODY
from adapters.mail.smtp_url import read_smtp_url
from domain.entities.query.read_query import MAX_PAGE_SIZE
from domain.entities.sheets import LARGEST_FILE
from domain.entities.transactions.items import MOST_ITEMS
from domain.parts.composition import AUDIT_ACTIONS
from entrypoints.cli.main import tenantry
from entrypoints.settings.settings import IN_FILES, PREFIX, VARIABLES
from tenantry.testing import open_app
from tests.documentation.documents import chapter
from tools.reference.metrics_page import metrics
from tools.reference.pages import FOLDER, PAGES
from tools.reference.sources import ROOT, calls, text_of

DOCS = Path(__file__).resolve().parents[2] / "docs"
GUIDES = sorted([*DOCS.glob("*.md"), DOCS.parent / "README.md"])
_BLOCK = re.compile(r"^ *```sh\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
_SETTING = re.compile(rf"\b{PREFIX}([A-Z_]+)=('[^']*'|\"[^\"]*\"|\S*)")
BUILT = ("…", "$")
"""Signs of values that a reader makes: they are not judged."""

KIB = 1024


def blocks(page: Path) -> Iterator[str]:
    yield from _BLOCK.findall(page.read_text("utf-8").replace("\\\n", " "))


def commands() -> list[str]:
    lines = (line.strip() for page in GUIDES for block in blocks(page) for line in block.splitlines())
    return sorted({line.removeprefix(".venv/bin/") for line in lines if re.match(r"(\.venv/bin/)?tenantry ", line)})


@pytest.mark.parametrize("line", commands())
def test_every_command_of_a_guide_is_one(line: str) -> None:
    words = shlex.split(line.partition("&&")[0])[1:]
    command: click.Command = tenantry
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, f"no such command: {words[0]}"
        command, words = found, words[1:]
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    assert [word for word in words if word.startswith("-") and word.partition("=")[0] not in known] == []


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_every_setting_in_a_guide_exists_and_accepts_its_value(page: Path) -> None:
    for block in blocks(page):
        for name, given in _SETTING.findall(block):
            value = given.strip("'\"")
            assert name in {*VARIABLES, *IN_FILES}, f"{PREFIX}{name}"
            if name in VARIABLES and not any(sign in value for sign in BUILT):
                VARIABLES[name].read(value)


def test_the_guide_to_replicas_names_existing_settings() -> None:
    table = re.findall(r"^\| (`.*?) \|", chapter("scale.md", "Several replicas"), re.MULTILINE)
    names = {name for cell in table for name in re.findall(r"`([A-Z_]+)`", cell)}
    assert {"SECRET_KEY", "BASE_URL", "MIGRATE"} < names <= set(VARIABLES)


def test_the_ports_of_mail_servers_are_those_that_are_used() -> None:
    text = (DOCS / "mail.md").read_text("utf-8")
    for shown, url in (("`smtp://…?starttls=true`", "smtp://a?starttls=true"), ("`smtps://…`", "smtps://a")):
        assert f"{shown} | {read_smtp_url(url).port} |" in text
    assert f"`smtp://127.0.0.1` | {read_smtp_url('smtp://127.0.0.1').port} |" in text


def test_the_sizes_are_those_that_hold() -> None:
    text = chapter("security.md", "Limits")
    bodies = (
        f"{ENTITY_BODY // KIB**2} MiB; of identity {IDENTITY_BODY // KIB} KiB, of a batch {BATCH_BODY // KIB**2} MiB"
    )
    assert f"| A body of JSON | {bodies} |" in text
    assert f"| Rows of a batch | {MOST_ITEMS:,} |" in text
    assert f"| An uploaded file | {LARGEST_FILE // KIB**2} MiB |" in text
    assert f"| Rows on a page | {MAX_PAGE_SIZE} |" in text


def test_the_queries_ask_for_metrics_and_labels_that_there_are() -> None:
    labels = {metric.name: metric.labels for metric in metrics()}
    text = (DOCS / "monitoring.md").read_text("utf-8")
    asked = re.findall(r"\b(tenantry_\w+?)(?:_total|_bucket)(?:\{(\w+)=~?\")?", text)
    assert len(asked) == 9
    for name, label in asked:
        assert name in labels
        assert not label or label in labels[name]


def test_the_list_of_the_documents_names_each_of_them_once() -> None:
    listed = re.findall(r"^- \[.+?\]\((.+?\.md)\)$", (DOCS / "README.md").read_text("utf-8"), re.MULTILINE)
    there = [path for folder in (DOCS, DOCS / "reference") for path in folder.glob("*.md")]
    own = {str(path.relative_to(DOCS)) for path in there} - {"README.md"}
    assert sorted(name for name in listed if not name.startswith("..")) == sorted({*own, "decisions/README.md"})


_ACTION = re.compile(r"[a-z][a-z-]*(\.[a-z-]+)?")

_OTHER_RECORDS = ("entrypoints/server/logging/log_writer.py", "entrypoints/cli/backup.py")
_WRITERS = ("event", "record", "record_own", "record_on_member", "record_by_mail", "_audit")

_NAMING = re.compile(r'f"([a-z-]+\.[a-z-]+:)\{')


@pytest.mark.parametrize("name", PAGES)
def test_the_generated_page_equals_its_file(name: str) -> None:
    written = (FOLDER / name).read_text("utf-8")
    assert written == PAGES[name](), f"docs/reference/{name} is old: run make reference, and read the difference"


def test_the_reference_folder_contains_only_generated_pages() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(PAGES)


def test_every_action_of_the_audit_trail_is_listed_and_written() -> None:
    plain = {action for action in AUDIT_ACTIONS if "{" not in action}
    assert set(written_actions()) == plain, "the modules of domain/parts have to list each action, with its meaning"


def written_actions() -> Iterator[str]:
    """First texts of ``event("role.changed", …)`` and ``record(tx, "role.changed", …)``."""
    for path, call in calls("domain", "application", "adapters", "entrypoints"):
        name = ast.unparse(call.func)
        if path in _OTHER_RECORDS or not name.endswith(_WRITERS):
            continue
        for argument in call.args[:2]:
            for node in ast.walk(argument):
                text = text_of(node) if isinstance(node, ast.Constant) else None
                if text is not None and _ACTION.fullmatch(text):
                    yield text


def test_every_action_that_names_something_is_listed_and_written() -> None:
    written = {
        match for path in (ROOT / "application").rglob("*.py") for match in _NAMING.findall(path.read_text("utf-8"))
    }
    listed = {action.partition("{")[0] for action in AUDIT_ACTIONS if ":{" in action}
    assert written == listed, "the modules of domain/parts have to list each action, with its meaning"


async def test_every_metric_that_is_served_is_listed() -> None:
    async with open_app() as app:
        text = (await app.client.get("/metrics")).text
    served = re.findall(r"^# TYPE (\w+) \w+$", text, re.MULTILINE)
    own = {name.removesuffix("_total").removesuffix("_created") for name in served}
    listed = {metric.name for metric in metrics()}
    assert own <= listed
    assert [metric.name for metric in metrics() if not metric.meaning.endswith(".")] == []


async def test_the_filters_of_the_grammar_are_accepted() -> None:
    page = (FOLDER / "queries.md").read_text("utf-8")
    examples = re.findall(r"^\| `([\w.]+=[^`]*)` \|", page, re.MULTILINE)
    assert len(examples) == 7
    async with open_app() as app:
        acme = await app.create_tenant("acme")
        for example in examples:
            answer = await app.client.get(f"/api/products?{example}", headers=acme)
            assert answer.status_code == 200, f"{example}: {answer.text}"
