"""Traces of requests with their SQL and Redis calls, sent by OTLP. The variables ``OTEL_…`` configure them."""

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
"""Paths that monitoring programs request constantly."""
LEFT_OUT = {"http.url", "http.target", "url.full", "url.path", "url.query"}
"""Attributes with client input: filters contain personal data, and a path may contain a key."""


class RequestsAlone(Sampler):
    """Sampler for traces that begin at a request; otherwise each statement of background work would be a trace."""

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
    """Exporter that removes client input from spans: paths, queries, and error texts, because these contain values."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self._exporter.export([discreet(span) for span in spans])

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


def discreet(span: ReadableSpan) -> ReadableSpan:
    """Return the span without attributes in ``LEFT_OUT`` and status message."""
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
    """Names spans ``GET /api/products/{row_id}``: one name per route, not per row."""

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        span, route = trace.get_current_span(), scope["path_template"]
        span.update_name(f"{scope.get('method', '')} {route}")
        span.set_attribute("http.route", route)
        await next_app(scope, receive, send)


class Traces:
    """Traces of this process. Create them after the process has started, because the sender is a thread."""

    def __init__(self, version: str) -> None:
        self._provider = TracerProvider(resource=Resource.create(_own_attributes(os.environ, version)))
        self._provider.sampler = RequestsAlone(self._provider.sampler)
        self._provider.add_span_processor(BatchSpanProcessor(DiscreetExporter(_exporter(os.environ))))
        trace.set_tracer_provider(self._provider)
        AsyncPGInstrumentor().instrument(tracer_provider=self._provider)  # type: ignore[no-untyped-call]

    def middleware(self) -> list[Middleware]:
        """Return Litestar's middleware before the router, and a middleware after the router that names the span."""
        config = OpenTelemetryConfig(
            tracer_provider=self._provider,
            scope_span_details_extractor=lambda scope: (str(scope.get("method", "")), {}),
            exclude=WITHOUT_TRACES,
            exclude_spans=["receive", "send"],
            http_capture_headers_server_response=["x-request-id"],
        )
        return [config.middleware, RouteNames()]

    async def close(self) -> None:
        """Send the remaining spans, within the exporter's time limit."""
        await asyncio.to_thread(self._provider.shutdown)


def _own_attributes(environment: Mapping[str, str], version: str) -> dict[str, Any]:
    """Return the service's attributes; the service name of the environment has priority."""
    own = {"service.version": version, "process.pid": os.getpid()}
    is_named = "OTEL_SERVICE_NAME" in environment or "service.name=" in environment.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return own if is_named else {"service.name": "tenantry", **own}


def _exporter(environment: Mapping[str, str]) -> SpanExporter:
    return ConsoleSpanExporter() if environment.get("OTEL_TRACES_EXPORTER") == "console" else OTLPSpanExporter()
