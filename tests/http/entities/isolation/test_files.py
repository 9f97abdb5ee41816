"""Every route that serves contents of files, tried by callers who may not read the row. It is made from the table."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from domain.entities.attachments.files import relation_of
from tests.contracts.entities.attachments.entities import REGISTRY
from tests.http.app import TestApp
from tests.http.entities.attachments.desk import made, open_desk, uploaded
from tests.http.entities.isolation.isolation import ABSENT, told
from tests.http.served import Served, served_by

CONTENTS = {"items.plans": b"a plan", "items.contract": b"a contract"}


@pytest.fixture
async def desk() -> TestApp:
    return await open_desk()


def file_routes(desk: TestApp) -> Iterator[tuple[Served, str]]:
    """Yield the routes of each field with files, and the purpose of its files."""
    for endpoint in served_by(desk.services):
        for model in REGISTRY:
            for field in model.attachments:
                name = relation_of(model, field)
                if f"{endpoint.path}/".startswith(f"/api/{model.plural}/{{id}}/{name}/"):
                    yield endpoint, f"{model.plural}.{name}"


async def held(desk: TestApp, purpose: str) -> tuple[str, str]:
    """Make a row that holds a file of the purpose; return the ids of both."""
    plural, name = purpose.split(".")
    file_id = await uploaded(desk, CONTENTS.get(purpose), purpose, whom="root in acme")
    model = REGISTRY[plural]
    field = next(field for field in model.attachments if relation_of(model, field) == name)
    required = {"code": file_id} if plural == "items" else {"text": "a"}
    row = await made(desk, "root in acme", plural, **required, **{field.wire: [file_id] if field.link else file_id})
    return row["id"], file_id


async def ask(desk: TestApp, endpoint: Served, row: str, file_id: str, whom: str) -> httpx.Response:
    path = endpoint.path.replace("{id}", row).replace("{file_id}", file_id).replace("{fileId}", file_id)
    sent: dict[str, Any] = {"json": {}} if endpoint.method == "POST" else {}
    return await desk.call(endpoint.method, path, as_whom=whom, **sent)


async def test_every_field_with_files_has_its_routes_in_the_table(desk: TestApp) -> None:
    found = [purpose for _, purpose in file_routes(desk)]
    assert {purpose: found.count(purpose) for purpose in found} == dict.fromkeys(
        ("items.photo", "items.plans", "items.contract", "notes.scan"), 2
    )


async def test_files_of_another_tenant_are_answered_like_absent_files(desk: TestApp) -> None:
    for endpoint, purpose in file_routes(desk):
        row, file_id = await held(desk, purpose)
        assert (await ask(desk, endpoint, row, file_id, "root in acme")).status_code == 200, endpoint.operation
        for whom in ("other", "root in other"):
            answer = await ask(desk, endpoint, row, file_id, whom)
            unknown = await ask(desk, endpoint, ABSENT, ABSENT, whom)
            assert answer.status_code == 404, (endpoint.operation, whom, answer.text)
            assert told(answer) == told(unknown), (endpoint.operation, whom)


async def test_files_and_links_of_a_deleted_row_are_answered_like_absent_ones(desk: TestApp) -> None:
    unknown_link = await desk.call("GET", "/files/unknown")
    for endpoint, purpose in file_routes(desk):
        row, file_id = await held(desk, purpose)
        answer = await ask(desk, endpoint, row, file_id, "root in acme")
        link = answer.json()["data"]["url"] if endpoint.method == "POST" else None
        path = f"/api/{purpose.split('.')[0]}/{row}"
        assert (await desk.call("DELETE", path, as_whom="root in acme")).status_code == 204
        deleted = await ask(desk, endpoint, row, file_id, "root in acme")
        unknown = await ask(desk, endpoint, ABSENT, ABSENT, "root in acme")
        assert deleted.status_code == 404, (endpoint.operation, deleted.text)
        assert told(deleted) == told(unknown), endpoint.operation
        if link is not None:
            ended = await desk.call("GET", link)
            assert ended.status_code == 404, endpoint.operation
            assert told(ended) == told(unknown_link), endpoint.operation
