"""The lines of answers: the same as every other line of the log, and none of them lost.

Traces by OpenTelemetry, which a real service sends to a receiver on this machine.
"""

import asyncio
import gzip
import json
import logging
import os
import signal
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import UUID

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Decision
from opentelemetry.trace import SpanKind

from adapters.http.operations.access_log import log_access
from adapters.opentelemetry.traces import RequestsAlone
from application.ports.access_log import AccessLine
from entrypoints.assembly.traces import trace_warnings, traces_are_on
from entrypoints.server.logging import log_writer
from entrypoints.server.logging.access_log import access_events, with_fields
from entrypoints.server.logging.log_writer import BEHIND, LogWriter, written_beside
from entrypoints.server.logging.setup import JSON, console, json_lines, plain_lines
from tests.entrypoints.processes import PASSWORD, Serve, eventually
from tests.waiting import HUNG_AFTER

LINE = AccessLine("GET", "/api/products/é\n", 200, 0.0123456, "the-one", "203.0.113.9", UUID(int=7))


def written(read: int) -> list[str]:
    with os.fdopen(read, encoding="utf-8") as lines:
        return lines.read().splitlines()


def writer_to(descriptor: int, **options: Any) -> LogWriter:
    return LogWriter([with_fields, *JSON], descriptor, **options)


@contextmanager
def running(writer: LogWriter) -> Iterator[None]:
    writer.start()
    try:
        yield
    finally:
        writer.close()


@pytest.mark.parametrize("line", [LINE, AccessLine("HEAD", "/", 404, 1.0, "x", "::1", None)])
async def test_an_access_line_equals_the_line_of_the_log_formatter(
    caplog: pytest.LogCaptureFixture, line: AccessLine
) -> None:
    with caplog.at_level(logging.INFO, "adapters.http.operations.access_log"):
        log_access(line)
    read, write = os.pipe()
    writer = writer_to(write)
    with running(writer):
        access_events(writer)(line)
    os.close(write)
    (own,) = written(read)
    said, logged = json.loads(own), json.loads(json_lines().format(caplog.records[0]))
    assert " ".join(said) == NAMES
    assert said | {"time": "", "message": ""} == logged | {"time": "", "message": ""}


def test_a_plain_log_formatter_prints_the_answered_request(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "adapters.http.operations.access_log"):
        log_access(AccessLine("GET", "/a b%s\n", 404, 0.0012, "x", "::1", None))
    assert logging.Formatter("%(message)s").format(caplog.records[0]) == r"answered GET '/a b%s\n': 404 in 1.2 ms"


NAMES = "time level logger message method path status ms request_id address user_id refusal"


async def test_all_lines_are_written_in_their_order() -> None:
    """More than the pipe takes at once, so the reader and the writer take turns; the last comes after the end."""
    read, write = os.pipe()
    reading = asyncio.create_task(asyncio.to_thread(written, read))
    writer = writer_to(write)
    log = access_events(writer)
    writer.start()
    for number in range(3000):
        log(AccessLine("GET", "/", 200, 0.0, str(number), "::1", None))
        if number % 500 == 0:
            await asyncio.sleep(0)
    await asyncio.to_thread(writer.close)
    log(AccessLine("GET", "/", 200, 0.0, "3000", "::1", None))
    os.close(write)
    assert [json.loads(line)["request_id"] for line in await reading] == [str(number) for number in range(3001)]


async def test_a_line_is_written_while_nothing_follows() -> None:
    read, write = os.pipe()
    writer = writer_to(write)
    with running(writer):
        access_events(writer)(LINE)
        async with asyncio.timeout(HUNG_AFTER):
            assert json.loads(await asyncio.to_thread(os.read, read, 4096))["request_id"] == "the-one"
    os.close(write)
    os.close(read)


async def test_logging_to_a_closed_pipe_raises_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    writer = writer_to(write)
    with running(writer):
        access_events(writer)(LINE)
    os.close(write)


async def test_a_blocked_log_reader_does_not_prevent_the_service_from_ending() -> None:
    """Nor from answering, with as much behind it as may wait and more."""
    read, write = os.pipe()
    writer = writer_to(write, gathered=0, patience=0.05)
    log = access_events(writer)
    writer.start()
    is_full = False
    while not is_full:  # the thread takes some until the pipe is full, too
        for _ in range(BEHIND):
            log(LINE)
        await asyncio.sleep(0.2)
        is_full = writer.queue.qsize() == BEHIND
    writer.close()
    assert writer.is_stuck
    log(LINE)
    os.set_blocking(read, False)
    assert 0 < len(os.read(read, 2**20)) < 2**20
    os.close(read)  # the thread's last write fails now, and it ends
    os.close(write)


async def test_lines_that_were_lost_are_counted_in_the_log() -> None:
    read, write = os.pipe()
    writer = writer_to(write, gathered=0)
    log = access_events(writer)
    for _ in range(BEHIND + 7):
        log(LINE)
    reading = asyncio.create_task(asyncio.to_thread(written, read))
    writer.start()
    await asyncio.to_thread(writer.close)
    os.close(write)
    lines = [json.loads(line) for line in await reading]
    assert sum(line["message"] == "answered" for line in lines) == BEHIND
    (said,) = (line for line in lines if "lost" in line)
    assert (said["level"], said["logger"], said["lost"]) == ("warning", log_writer.__name__, 7)


async def test_other_log_entries_use_the_writer_while_it_runs_and_then_the_old_handler() -> None:
    read, write = os.pipe()
    root = logging.getLogger()
    handlers = list(root.handlers)
    direct = logging.StreamHandler(sys.stderr)
    direct.setFormatter(json_lines())
    root.handlers[:] = [direct]
    try:
        with written_beside(writer_to(write)):
            logging.getLogger("shop").warning("sold %s", "out", extra={"product": UUID(int=1)})
        assert root.handlers == [direct]
    finally:
        root.handlers[:] = handlers
    os.close(write)
    (line,) = [json.loads(line) for line in written(read)]
    del line["time"]
    assert line == {"level": "warning", "logger": "shop", "message": "sold out", "product": str(UUID(int=1))}


def failed() -> logging.LogRecord:
    """A record of an error in a function whose variables hold a secret."""
    password = "correct horse"
    try:
        raise ValueError(len(password))
    except ValueError:
        return logging.LogRecord("shop", logging.ERROR, __file__, 1, "it failed", (), sys.exc_info())


@pytest.mark.parametrize("formatter", [json_lines, plain_lines])
def test_an_error_is_logged_with_its_traceback_but_without_variable_values(formatter: Any) -> None:
    line = formatter().format(failed())
    assert "it failed" in line
    assert line.count("Traceback") == 1
    assert "ValueError: 13" in line
    assert "'correct horse'" not in line


def test_an_error_is_one_line_of_json_with_its_traceback() -> None:
    line = json.loads(json_lines().format(failed()))
    assert line["message"] == "it failed"
    assert line["exception"].endswith("ValueError: 13")


def test_on_a_terminal_a_line_is_text() -> None:
    event = {"time": 0.5, "level": "info", "logger": "shop", "event": "answered", "line": LINE}
    line: Any = event
    for processor in (with_fields, *console()):
        line = processor(None, "", line)
    assert line.startswith("1970-01-01T00:00:00.500Z")
    assert "status=200" in line


async def test_the_last_requests_before_the_end_are_in_the_log(serve: Serve, migrated: dict[str, str]) -> None:
    served = serve(**migrated)
    for _ in range(5):
        assert served.call("GET", "/api/nowhere").status == 404
    assert served.end(signal.SIGTERM) == 0
    assert served.process.stdout is not None
    lines = [json.loads(line) for line in served.process.stdout if '"answered"' in line]
    assert [line["path"] for line in lines] == ["/api/nowhere"] * 5


SECRET = "tnt_sentinel-of-a-secret"


@dataclass
class Receiver:
    """An OTLP receiver over HTTP, which keeps the spans that it is sent."""

    url: str = ""
    names: set[str] = field(default_factory=set)
    spans: list[Any] = field(default_factory=list)

    def take(self, body: bytes) -> None:
        request = ExportTraceServiceRequest.FromString(body)
        for group in request.resource_spans:
            attributes = {item.key: item.value.string_value for item in group.resource.attributes}
            self.names.add(attributes["service.name"])
            self.spans += [span for scope in group.scope_spans for span in scope.spans]

    def named(self, name: str) -> list[Any]:
        return [span for span in self.spans if span.name == name]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    kept = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            encoding = self.headers.get("Content-Encoding")
            kept.take(gzip.decompress(body) if encoding == "gzip" else zlib.decompress(body) if encoding else body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    kept.url = f"http://127.0.0.1:{server.server_port}"
    yield kept
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_request_its_sql_and_its_redis_are_one_trace_without_secrets(
    serve: Serve, migrated: dict[str, str], receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
    served = serve(**migrated)
    token = served.log_in(PASSWORD)
    assert served.call("GET", f"/api/products?name={SECRET}", token=token).status == 200
    refused = {"email": "ada@example.com", "password": PASSWORD, "fullName": SECRET, "roles": []}
    assert served.call("POST", "/api/users", refused, token).status == 201
    assert served.call("POST", "/api/users", refused, token).status == 409
    assert served.call("GET", "/health/live").status == 200
    eventually(lambda: len(receiver.named("POST /api/users")) == 2)
    served.process.terminate()
    served.process.wait(HUNG_AFTER)

    assert receiver.names == {"tenantry"}
    (page,) = receiver.named("GET /api/products")
    together = [span for span in receiver.spans if span.trace_id == page.trace_id]
    systems = {attribute(span, "db.system") for span in together}
    assert {"redis", "postgresql"} <= systems
    assert {span.kind for span in together if attribute(span, "db.system")} == {3}  # a client's
    assert all(span.parent_span_id for span in together if span is not page)
    assert attribute(page, "http.route") == "/api/products"
    assert any("products" in str(attribute(span, "db.statement")) for span in together)

    # background work is no trace of its own, nor is what programs ask all the time
    roots = {span.name for span in receiver.spans if not span.parent_span_id}
    assert roots == {"POST /api/auth/login", "GET /api/products", "POST /api/users"}
    everything = str(receiver.spans)
    for secret in (SECRET, PASSWORD, token, "ada@example.com", migrated["SECRET_KEY"]):
        assert secret not in everything


def attribute(span: Any, name: str) -> Any:
    found = [item.value for item in span.attributes if item.key == name]
    return (found[0].string_value or list(found[0].array_value.values)) if found else None


def test_traces_are_off_without_variables_and_when_they_are_disabled() -> None:
    assert not traces_are_on({})
    assert not traces_are_on({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_SDK_DISABLED": "true"})
    assert not traces_are_on({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_TRACES_EXPORTER": "none"})


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, None),
        ({"OTEL_TRACES_EXPORTER": "console"}, None),
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER is 'zipkin'"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "'grpc'"),
    ],
)
def test_traces_that_cannot_be_sent_cause_a_warning_and_not_a_failed_start(
    environment: dict[str, str], told: str | None
) -> None:
    warnings = list(trace_warnings(environment))
    assert traces_are_on(environment) == (told is None)
    assert len(warnings) == (told is not None)
    assert told is None or told in warnings[0]


def test_only_a_request_begins_a_trace() -> None:
    sampler = RequestsAlone(ALWAYS_ON)
    decisions = [sampler.should_sample(None, 1, "x", kind).decision for kind in (SpanKind.CLIENT, SpanKind.SERVER)]
    assert decisions == [Decision.DROP, Decision.RECORD_AND_SAMPLE]
