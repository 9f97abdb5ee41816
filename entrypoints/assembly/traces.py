"""Whether OpenTelemetry's variables enable traces, and whether traces can be sent."""

import os
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adapters.opentelemetry.traces import Traces  # needs optional packages

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
EXPORTERS = ("otlp", "console")
PACKAGE = "opentelemetry.exporter.otlp.proto.http"


def traces_are_on(environment: Mapping[str, str]) -> bool:
    return _is_wanted(environment) and not list(trace_warnings(environment))


def trace_warnings(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the reasons why the service does not send traces, although the environment requests them."""
    # A cluster may set these variables for all programs, so do not refuse the start.
    if not _is_wanted(environment):
        return
    exporter = environment.get("OTEL_TRACES_EXPORTER", "otlp")
    if exporter not in EXPORTERS:
        yield f"OTEL_TRACES_EXPORTER is {exporter!r}, and traces are off: it must be otlp, console or none."
    # The gRPC packages are large, and every collector accepts HTTP.
    protocol = next((environment[name] for name in PROTOCOLS if environment.get(name)), "http/protobuf")
    if protocol != "http/protobuf":
        yield f"The protocol of OTLP is {protocol!r}, and traces are off: set {PROTOCOLS[1]}=http/protobuf."
    if not _is_installed():
        yield "Traces are asked for by OTEL_… and off: their packages are missing. Run: pip install 'tenantry[traces]'"


def start_traces() -> "Traces | None":
    """Start the traces of this process. If traces are off, import nothing and return None."""
    if not traces_are_on(os.environ):
        return None
    from adapters.opentelemetry.traces import Traces

    # Start the traces in each worker, because the thread that sends them does not survive a fork.
    return Traces(version("tenantry"))


def _is_wanted(environment: Mapping[str, str]) -> bool:
    exporter = environment.get("OTEL_TRACES_EXPORTER", "")
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true" or exporter == "none":
        return False
    return bool(exporter) or any(environment.get(name) for name in ENDPOINTS)


def _is_installed() -> bool:
    try:
        return find_spec(PACKAGE) is not None and find_spec("opentelemetry.instrumentation.asyncpg") is not None
    except ModuleNotFoundError:  # a parent package is missing
        return False
