"""Shared pipeline with a span for each call, in the trace of the request that waits for it."""

from typing import Any

from opentelemetry.trace import SpanKind, get_current_span, get_tracer

from adapters.redis.shared_pipeline import Command, SharedPipeline


class TracedPipeline(SharedPipeline):
    """A shared pipeline with a span for each call.

    Calls of several requests share a round trip: a span of the round trip would be in the trace of one request alone.
    """

    async def call(self, command: Command, *, alone: bool = False) -> Any:
        if not get_current_span().is_recording():
            return await super().call(command, alone=alone)
        # keys and arguments name users and addresses: the command's name has to do
        name = str(command[0])
        attributes = {"db.system": "redis", "db.operation": name}
        with get_tracer("tenantry").start_as_current_span(f"redis {name}", kind=SpanKind.CLIENT, attributes=attributes):
            return await super().call(command, alone=alone)
