"""Health checks in both access logs, and the address that commands print next to a running service."""

import logging
import os
from pathlib import Path
from typing import Any

import pytest

from adapters.http.operations.access_log import log_access
from application.ports.access_log import AccessLine
from entrypoints.server.logging.access_log import access_events
from entrypoints.server.servers import any_servers
from entrypoints.settings.data_dir import Running, note_running
from entrypoints.settings.settings import read_settings


class Collected:
    """Collects the events that a LogWriter would write."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    def put(self, event: Any) -> None:
        self.events.append(event)


@pytest.mark.parametrize(
    ("operation", "status", "is_logged"),
    [
        ("health.live", 200, False),
        ("health.ready", 200, False),
        ("health.ready", 503, True),
        ("GET /api/products", 200, True),
        ("nowhere", 404, True),
    ],
)
def test_a_successful_health_check_is_logged_at_debug_only(
    caplog: pytest.LogCaptureFixture, operation: str, status: int, is_logged: bool
) -> None:
    line = AccessLine("GET", "/", status, 0.001, "x", "::1", None, operation)
    for level, has_probes in ((logging.INFO, False), (logging.DEBUG, True)):
        caplog.clear()
        with caplog.at_level(level, "adapters.http.operations.access_log"):
            log_access(line)
        collected: Any = Collected()
        access_events(collected, has_probes=has_probes)(line)
        assert [len(caplog.records), len(collected.events)] == [int(is_logged or has_probes)] * 2


@pytest.mark.parametrize("address", ["http://127.0.0.1:8123", "http://127.0.0.1:8000", "https://shop.example"])
def test_a_command_next_to_a_running_service_has_the_address_of_the_service(tmp_path: Path, address: str) -> None:
    fcntl = pytest.importorskip("fcntl")
    note_running(tmp_path, Running(pid=os.getpid(), base_url=address, database_url="postgresql:///x", redis_url=None))
    (tmp_path / "lock").write_text(str(os.getpid()))
    with (tmp_path / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        settings = read_settings({"TENANTRY_DATA_DIR": str(tmp_path), "TENANTRY_REDIS_URL": "redis://127.0.0.1:1"})
        with any_servers(settings) as (joined, running):
            assert running is not None
            assert joined.base_url == address
            assert joined.database_url is not None
            assert joined.database_url.reveal() == "postgresql:///x"
