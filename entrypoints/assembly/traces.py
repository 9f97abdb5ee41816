"""Whether traces are wanted and can be sent, by OpenTelemetry's own variables."""

import os
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adapters.opentelemetry.traces import Traces  # needs packages that few have

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
EXPORTERS = ("otlp", "console")
PACKAGE = "opentelemetry.exporter.otlp.proto.http"


def traces_are_on(environment: Mapping[str, str]) -> bool:
    return _is_wanted(environment) and not list(trace_warnings(environment))


def trace_warnings(environment: Mapping[str, str]) -> Iterator[str]:
    """Why traces that the environment asks for are off all the same."""
    # A cluster may set these variables for everything that it runs: no reason to refuse the start.
    if not _is_wanted(environment):
        return
    exporter = environment.get("OTEL_TRACES_EXPORTER", "otlp")
    if exporter not in EXPORTERS:
        yield f"OTEL_TRACES_EXPORTER is {exporter!r}, and traces are off: it takes otlp, console or none."
    # the packages for gRPC are large, and every collector takes HTTP
    protocol = next((environment[name] for name in PROTOCOLS if environment.get(name)), "http/protobuf")
    if protocol != "http/protobuf":
        yield f"The protocol of OTLP is {protocol!r}, and traces are off: set {PROTOCOLS[1]}=http/protobuf."
    if not _is_installed():
        yield "Traces are asked for by OTEL_… and off: their packages are missing. Run: pip install 'tenantry[traces]'"


def start_traces() -> "Traces | None":
    """Traces of this process; None, and nothing is loaded, where they are off."""
    if not traces_are_on(os.environ):
        return None
    from adapters.opentelemetry.traces import Traces  # see above

    # in each worker: the thread that sends does not survive a fork
    return Traces(version("tenantry"))


def _is_wanted(environment: Mapping[str, str]) -> bool:
    exporter = environment.get("OTEL_TRACES_EXPORTER", "")
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true" or exporter == "none":
        return False
    return bool(exporter) or any(environment.get(name) for name in ENDPOINTS)


def _is_installed() -> bool:
    try:
        return find_spec(PACKAGE) is not None and find_spec("opentelemetry.instrumentation.asyncpg") is not None
    except ModuleNotFoundError:  # a package above it is missing
        return False
