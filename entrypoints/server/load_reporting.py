"""Telling the load of this process to the metrics now and then, for the process of ours that is asked for them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adapters.prometheus.metrics import PrometheusMetrics
from application.operations.monitoring import Monitoring
from application.tasks import beside

EVERY = 1.0
"""Seconds: as old as the load of another process can be in an answer."""


@asynccontextmanager
async def load_reporting(metrics: PrometheusMetrics, monitoring: Monitoring) -> AsyncIterator[None]:
    async with beside(_keep_telling(metrics, monitoring)):
        yield


async def _keep_telling(metrics: PrometheusMetrics, monitoring: Monitoring) -> None:
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + EVERY
        await asyncio.sleep(EVERY)
        # what keeps this timer waiting keeps every request of the process waiting
        metrics.see_load(monitoring.load(), max(0.0, loop.time() - due))
