"""docs/reference is what the code says: the pages are compared, and what they list with what is written and served."""

import ast
import re
from collections.abc import Iterator

import pytest

from domain.parts.composition import AUDIT_ACTIONS
from tenantry.testing import open_app
from tools.reference.metrics_page import metrics
from tools.reference.pages import FOLDER, PAGES
from tools.reference.sources import ROOT, calls, text_of

_ACTION = re.compile(r"[a-z][a-z-]*(\.[a-z-]+)?")

_WRITERS = ("event", "record", "record_own", "record_on_member", "record_by_mail", "_audit")

_NAMING = re.compile(r'f"([a-z-]+\.[a-z-]+:)\{')


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_what_the_code_says(name: str) -> None:
    written = (FOLDER / name).read_text("utf-8")
    assert written == PAGES[name](), f"docs/reference/{name} is old: run make reference, and read the difference"


def test_no_other_page_stands_among_them() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(PAGES)


def test_every_action_of_the_audit_trail_is_listed_and_written() -> None:
    plain = {action for action in AUDIT_ACTIONS if "{" not in action}
    assert set(written_actions()) == plain, "the modules of domain/parts have to list each action, with its meaning"


def written_actions() -> Iterator[str]:
    """First texts of ``event("role.changed", …)`` and ``record(tx, "role.changed", …)``."""
    for path, call in calls("domain", "application", "adapters", "entrypoints"):
        name = ast.unparse(call.func)
        if path == "entrypoints/server/logging/log_writer.py" or not name.endswith(_WRITERS):
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
