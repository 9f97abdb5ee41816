"""Every operation, error code and documented subject has a test with a promise."""

import re

from msgspec import Struct

from adapters.http.request.errors import STATUS
from domain.entities.catalogue import ENTITIES
from domain.entities.markers import entity, mine
from tests.http.app import open_test_app
from tests.http.served import Served, served_by
from tests.promises import SUBJECTS, promises


@entity("parcels", own=[mine("created_by")], shared=True, changes=True, soft_delete=True)
class Parcel(Struct):
    """An entity with operations that none of the examples has."""

    name: str


async def test_every_operation_has_a_promise_and_every_promised_operation_exists() -> None:
    place = await open_test_app(entities=(*ENTITIES, Parcel))
    table = [endpoint for endpoint in served_by(place.services) if endpoint.path.startswith("/api/")]
    await place.client.aclose()
    served = {f"{endpoint.method} {_without_entity(endpoint.path, table)}" for endpoint in table}
    promised = {promise.subject for promise in promises() if re.match(r"[A-Z]+ /api/", promise.subject)}
    assert sorted(served - promised) == []
    assert sorted(promised - served) == []


def _without_entity(path: str, table: list[Served]) -> str:
    """``/api/{entities}/{id}`` for ``/api/products/{id}``: entities have the same operations."""
    root = "/".join(path.split("/")[:3])
    is_entity = any(endpoint.area == "B" and endpoint.path == f"{root}/{{id}}" for endpoint in table)
    return path.replace(root, "/api/{entities}", 1) if is_entity else path


def test_every_subject_has_a_promise_and_no_promise_another_subject() -> None:
    subjects = {f"{area}, {section}" for area, sections in SUBJECTS.items() for section in sections}
    promised = {promise.subject for promise in promises() if not re.match(r"[A-Z]+ /", promise.subject)}
    assert promised == subjects


def test_every_error_code_has_a_promise() -> None:
    text = "\n".join(promise.text for promise in promises())
    assert [code for code in STATUS if not re.search(rf"\b{code}\b", text)] == []
