"""Uploads without room, or with a read-only folder: 503, and the next one succeeds."""

import tempfile
from pathlib import Path

import pytest

from tests.faults.full_disk import full_after
from tests.http.app import TestApp
from tests.http.entities.attachments.desk import open_desk, send

CONTENT = b"x" * 90_000


@pytest.fixture
async def desk() -> TestApp:
    return await open_desk()


async def outcome(desk: TestApp) -> tuple[int, str]:
    answer = await send(desk, CONTENT, "items.plans")
    return answer.status_code, answer.json().get("error", {}).get("code", "")


@pytest.mark.promise("security, faults: an upload on a full or read-only disk is an outage, and the next one succeeds")
async def test_an_upload_on_a_full_disk_is_an_outage(desk: TestApp) -> None:
    with full_after(50_000):
        assert await outcome(desk) == (503, "SERVICE_UNAVAILABLE")
    assert await outcome(desk) == (201, "")


async def test_an_upload_to_a_folder_that_cannot_be_written_is_an_outage(
    desk: TestApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spool").write_bytes(b"a file in place of the folder")
    with monkeypatch.context() as moved:
        moved.setattr(tempfile, "tempdir", str(tmp_path / "spool"))
        assert await outcome(desk) == (503, "SERVICE_UNAVAILABLE")
    assert await outcome(desk) == (201, "")
