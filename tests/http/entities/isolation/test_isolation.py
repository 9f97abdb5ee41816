"""Every endpoint of every entity, tried by everybody. It is made from the table: a new entity needs no test."""

from collections.abc import AsyncIterator

import pytest

from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from tests.http.entities.isolation.isolation import (
    BYPASSING,
    ELSEWHERE,
    OWN,
    PLURALS,
    REFUSED,
    WRITTEN,
    Ground,
    ensure_absent_elsewhere,
    open_ground,
)
from tests.http.served import Served, served_by


@pytest.fixture
async def ground(database: WholeDatabase, registry: Registry) -> AsyncIterator[Ground]:
    made = await open_ground(database, registry)
    yield made
    await made.app.client.aclose()


async def test_the_matrix_has_every_endpoint_of_every_entity(ground: Ground) -> None:
    covered = [endpoint.operation for plural in PLURALS for endpoint in ground.endpoints(plural)]
    paths = tuple(f"/api/{plural}" for plural in PLURALS)
    table = [endpoint for endpoint in served_by(ground.app.services) if endpoint.path.startswith(paths)]
    assert sorted(covered) == sorted(endpoint.operation for endpoint in table)
    assert len(covered) >= 2 * len(PLURALS)


@pytest.mark.promise("entities, contract: Authorization by permission name")
@pytest.mark.parametrize("plural", PLURALS)
async def test_who_may_not_is_refused_and_changes_nothing(ground: Ground, plural: str) -> None:
    model = ground.registry[plural]
    row_id, body = await ground.row(model), await ground.body(model)
    before = await ground.seen(model, row_id)
    for endpoint in ground.endpoints(plural):
        for whom, status in REFUSED.items():
            answer = await ground.ask(endpoint, whom, row_id, body)
            assert answer.status_code == status, (endpoint.operation, whom.name, answer.text)
            assert row_id not in answer.text
    assert await ground.seen(model, row_id) == before


@pytest.mark.promise("entities, contract: tenant isolation, and access of super-admins to other tenants")
@pytest.mark.promise(
    "entities, details: the same 404 for an id of another tenant, a deleted one and one that never existed"
)
@pytest.mark.promise(
    "keys, impersonation: a key of one tenant opens nothing of another, on every route of every entity, and its "
    "account does not exist there"
)
@pytest.mark.parametrize("plural", PLURALS)
async def test_a_row_of_another_tenant_is_answered_like_an_absent_row(ground: Ground, plural: str) -> None:
    await ensure_absent_elsewhere(ground, plural)


@pytest.mark.promise("entities, contract: tenant isolation, and access of super-admins to other tenants")
@pytest.mark.parametrize("plural", PLURALS)
async def test_every_endpoint_serves_its_tenant_and_super_admins_with_a_scope(ground: Ground, plural: str) -> None:
    model = ground.registry[plural]
    for endpoint in ground.endpoints(plural):
        for whom in (OWN, *ELSEWHERE, *BYPASSING):
            row_id, body = await ground.row(model), await ground.body(model)
            answer = await ground.ask(endpoint, whom, row_id, body)
            said = (endpoint.operation, whom.name, answer.text)
            is_write = endpoint.method in WRITTEN
            # a file is read in one tenant
            is_of_one = is_write or endpoint.path.rpartition("/")[2] in model.relations
            if is_of_one and whom.reach == "all":
                assert answer.status_code == 400, said
            elif is_write and not model.tenant_owned and whom.token != "root":
                assert answer.status_code == 403, said
            elif whom in ELSEWHERE and model.tenant_owned:
                continue  # the test above
            else:
                assert answer.status_code in allowed(endpoint), said
                if endpoint.method == "GET" and endpoint.operation.endswith((".read", ".page", ".export")):
                    assert row_id in answer.text, said


def allowed(endpoint: Served) -> tuple[int, ...]:
    """The same row twice, or a restoring of what lives: 409 tells that one was let in."""
    return (200, 201, 204, 409) if endpoint.method == "POST" else (200, 204)
