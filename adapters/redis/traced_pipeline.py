"""Shared pipeline with a span per call, in the trace of the waiting request."""

from typing import Any

from opentelemetry.trace import SpanKind, get_current_span, get_tracer

from adapters.redis.shared_pipeline import Command, SharedPipeline


class TracedPipeline(SharedPipeline):
    """Shared pipeline with a span per call.

    A span per round trip would be in the trace of only one request, because calls of several requests share a round
    trip.
    """

    async def call(self, command: Command, *, alone: bool = False) -> Any:
        if not get_current_span().is_recording():
            return await super().call(command, alone=alone)
        # Security: keys and arguments contain users and addresses, so use only the command's name.
        name = str(command[0])
        attributes = {"db.system": "redis", "db.operation": name}
        with get_tracer("tenantry").start_as_current_span(f"redis {name}", kind=SpanKind.CLIENT, attributes=attributes):
            return await super().call(command, alone=alone)
