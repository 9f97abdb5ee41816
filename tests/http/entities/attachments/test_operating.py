"""Readiness, metrics, the log and the audit trail of files."""

import logging

import pytest

from adapters.http.app import HttpSettings, build_app
from adapters.memory.entities.attachments.objects import MemoryFileStore
from adapters.prometheus.metrics import PrometheusMetrics
from application.entities.attachments.availability import CHECKED_EVERY
from application.entities.attachments.watched_store import WatchedStore
from entrypoints.testing import app as testing
from tests.http.app import TestApp, open_test_app
from tests.http.entities.attachments.desk import made, open_desk, send, uploaded, with_photo


@pytest.fixture
async def desk() -> TestApp:
    return await open_desk()


def store_of(desk: TestApp) -> MemoryFileStore:
    watched = desk.adapters.files.store
    assert isinstance(watched, WatchedStore)
    assert isinstance(watched.store, MemoryFileStore)
    return watched.store


@pytest.mark.promise("GET /health/ready: degraded while the store of files is unavailable; rows are served")
async def test_the_service_is_degraded_while_the_store_is_unavailable(desk: TestApp) -> None:
    path = await with_photo(desk)
    ready = {"status": "ready", "database": True, "redis": True, "files": True}
    assert (await desk.call("GET", "/health/ready")).json() == ready
    store_of(desk).is_away = True
    desk.clock.move(CHECKED_EVERY)
    answer = await desk.call("GET", "/health/ready")
    assert (answer.status_code, answer.json()) == (200, {**ready, "status": "degraded", "files": False})
    assert (await send(desk)).status_code == 503
    assert (await desk.call("GET", f"{path}/photo", as_whom="acme")).status_code == 503
    assert (await desk.call("GET", f"{path}?include=photo", as_whom="acme")).status_code == 200
    assert (await made(desk, code="another"))["code"] == "another"
    store_of(desk).is_away = False
    desk.clock.move(CHECKED_EVERY)
    assert (await desk.call("GET", "/health/ready")).json() == ready


async def test_readiness_does_not_mention_files_without_a_field_for_them() -> None:
    app = await open_test_app(entities=())
    assert (await app.call("GET", "/health/ready")).json() == {"status": "ready", "database": True, "redis": True}


async def test_a_missing_content_answers_404_and_is_logged(desk: TestApp, caplog: pytest.LogCaptureFixture) -> None:
    path = await with_photo(desk)
    (key,) = store_of(desk).objects
    store_of(desk).objects.clear()
    with caplog.at_level(logging.ERROR):
        assert (await desk.call("GET", f"{path}/photo", as_whom="acme")).status_code == 404
    assert [record.args for record in caplog.records] == [(key.rpartition("/")[2], key)]


async def test_metrics_count_bytes_refusals_and_errors(desk: TestApp) -> None:
    path = await with_photo(desk)
    await desk.call("GET", f"{path}/photo", as_whom="acme")
    await send(desk, b"x" * 1_001, "items.contract")
    await send(desk, b"<svg/>")
    await send(desk, whom="reader")
    store_of(desk).is_away = True
    await send(desk)
    size = sum(len(content) for content in store_of(desk).objects.values())
    metrics = PrometheusMetrics()
    for _ in range(2):  # a load is the sum since the start
        metrics.see_load(desk.services.monitoring.load())
    counted = testing.client_of(build_app(desk.services, HttpSettings(), metrics))
    lines = (await counted.get("/metrics")).text.splitlines()
    found = {name: value for name, _, value in (line.rpartition(" ") for line in lines) if "_created" not in name}
    assert found['tenantry_file_bytes_total{direction="in"}'] == f"{float(size)}"
    assert found['tenantry_file_bytes_total{direction="out"}'] == f"{float(size)}"
    refusals = {name: value for name, value in found.items() if name.startswith("tenantry_file_refusals_total")}
    assert refusals == {
        f'tenantry_file_refusals_total{{reason="{reason}"}}': "1.0"
        for reason in ("payload_too_large", "unsupported_media_type", "forbidden", "service_unavailable")
    }
    assert found["tenantry_file_store_errors_total"] == "1.0"
    assert found["tenantry_file_thumbnails_waiting"] == "0.0"


@pytest.mark.promise("entities, details: a link to a file is in the audit trail if the entity has a history")
async def test_links_are_in_the_audit_trail_of_entities_with_a_history(desk: TestApp) -> None:
    path = await with_photo(desk)
    scan = await uploaded(desk, purpose="notes.scan")
    note = await made(desk, plural="notes", text="a", scanId=scan)
    for target in (f"{path}/photo", f"/api/notes/{note['id']}/scan"):
        assert (await desk.call("POST", f"{target}/link", as_whom="acme", json={})).status_code == 200
    found = await desk.call("GET", "/api/audit-events?action.startsWith=file.", as_whom="acme")
    actions = [event["action"] for event in found.json()["data"]["items"]]
    assert actions == [f"file.linked:items.photo:{path.rpartition('/')[2]}"]
