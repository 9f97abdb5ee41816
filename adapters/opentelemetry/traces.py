"""Traces of requests, their SQL and their Redis, sent by OTLP as the variables ``OTEL_…`` say."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Any

from litestar.middleware import ASGIMiddleware
from litestar.plugins.opentelemetry import OpenTelemetryConfig
from litestar.types import ASGIApp, Middleware, Receive, Scope, Send
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.asyncpg import AsyncPGInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult
from opentelemetry.trace import SpanKind, Status

WITHOUT_TRACES = ["^/health/", "^/metrics$"]
"""Paths that programs ask all the time."""
LEFT_OUT = {"http.url", "http.target", "url.full", "url.path", "url.query"}
"""Attributes with what a client wrote: filters hold personal data, and somebody may put a key into a path."""


class RequestsAlone(Sampler):
    """A sampler whose traces begin with a request: statements of background work would each be a trace of its own."""

    def __init__(self, chosen: Sampler) -> None:
        self._chosen = chosen

    def should_sample(
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        *more: Any,
        **named: Any,
    ) -> SamplingResult:
        parent = trace.get_current_span(parent_context).get_span_context()
        if not parent.is_valid and kind is not SpanKind.SERVER:
            return SamplingResult(Decision.DROP)
        return self._chosen.should_sample(parent_context, trace_id, name, kind, *more, **named)

    def get_description(self) -> str:
        return f"RequestsAlone({self._chosen.get_description()})"


class DiscreetExporter(SpanExporter):
    """Sends spans without what clients wrote: neither paths and queries nor the texts of errors, which hold values."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self._exporter.export([discreet(span) for span in spans])

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


def discreet(span: ReadableSpan) -> ReadableSpan:
    """The span as it is sent."""
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes={name: value for name, value in (span.attributes or {}).items() if name not in LEFT_OUT},
        links=span.links,
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


class RouteNames(ASGIMiddleware):
    """Names spans ``GET /api/products/{row_id}``: a name for each route, and not for each row."""

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        span, route = trace.get_current_span(), scope["path_template"]
        span.update_name(f"{scope.get('method', '')} {route}")
        span.set_attribute("http.route", route)
        await next_app(scope, receive, send)


class Traces:
    """Traces of this process, made after it has started: the sender is a thread."""

    def __init__(self, version: str) -> None:
        self._provider = TracerProvider(resource=Resource.create(_own_attributes(os.environ, version)))
        self._provider.sampler = RequestsAlone(self._provider.sampler)
        self._provider.add_span_processor(BatchSpanProcessor(DiscreetExporter(_exporter(os.environ))))
        trace.set_tracer_provider(self._provider)
        AsyncPGInstrumentor().instrument(tracer_provider=self._provider)  # type: ignore[no-untyped-call]

    def middleware(self) -> list[Middleware]:
        """Litestar's middleware, which stands before the router, and one behind it that names the span."""
        config = OpenTelemetryConfig(
            tracer_provider=self._provider,
            scope_span_details_extractor=lambda scope: (str(scope.get("method", "")), {}),
            exclude=WITHOUT_TRACES,
            exclude_spans=["receive", "send"],
            http_capture_headers_server_response=["x-request-id"],
        )
        return [config.middleware, RouteNames()]

    async def close(self) -> None:
        """Sends what is left; the sender's own patience bounds it."""
        await asyncio.to_thread(self._provider.shutdown)


def _own_attributes(environment: Mapping[str, str], version: str) -> dict[str, Any]:
    """Attributes of the process; a name that the environment gives wins."""
    own = {"service.version": version, "process.pid": os.getpid()}
    is_named = "OTEL_SERVICE_NAME" in environment or "service.name=" in environment.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return own if is_named else {"service.name": "tenantry", **own}


def _exporter(environment: Mapping[str, str]) -> SpanExporter:
    return ConsoleSpanExporter() if environment.get("OTEL_TRACES_EXPORTER") == "console" else OTLPSpanExporter()
