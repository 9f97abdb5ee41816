"""Traces by OpenTelemetry, which a real service sends to a receiver on this machine."""

import gzip
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Decision
from opentelemetry.trace import SpanKind

from adapters.opentelemetry.traces import RequestsAlone
from entrypoints.assembly.traces import trace_warnings, traces_are_on
from tests.entrypoints.processes import PASSWORD, Serve, eventually
from tests.waiting import HUNG_AFTER

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


def test_there_are_no_traces_without_variables_and_where_they_say_so() -> None:
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
def test_what_cannot_be_sent_is_told_and_does_not_stop_the_start(environment: dict[str, str], told: str | None) -> None:
    warnings = list(trace_warnings(environment))
    assert traces_are_on(environment) == (told is None)
    assert len(warnings) == (told is not None)
    assert told is None or told in warnings[0]


def test_only_a_request_begins_a_trace() -> None:
    sampler = RequestsAlone(ALWAYS_ON)
    decisions = [sampler.should_sample(None, 1, "x", kind).decision for kind in (SpanKind.CLIENT, SpanKind.SERVER)]
    assert decisions == [Decision.DROP, Decision.RECORD_AND_SAMPLE]
