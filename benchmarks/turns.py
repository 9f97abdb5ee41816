"""A run of load on one server, with the CPU of each of its processes."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from benchmarks import wrk
from benchmarks.failures import BenchmarkFailed
from benchmarks.operations import Operation
from benchmarks.processes import cpu_seconds, tree
from benchmarks.requests import Request
from benchmarks.servers import Server


class Turn(Struct, frozen=True):
    """CPU milliseconds of all processes for a request, and the part of that CPU that the busiest process used.

    ``counted`` are the requests a second that were answered.
    """

    each: float
    busiest: float
    counted: float

    @property
    def rate(self) -> float:
        """Requests a second until the busiest process has used a whole core."""
        return 1_000 / self.each / self.busiest


async def run_turn(
    server: Server, operation: Operation, requests: Sequence[Request], seconds: float, *, workers: int = 1
) -> Turn:
    """Sends the requests for so long, after a second of warm-up. Raises BenchmarkFailed on any error."""
    with TemporaryDirectory(prefix="tenantry-turn-") as folder:
        script = Path(folder) / "load.lua"
        script.write_text(wrk.script(requests, 0))
        await wrk.run(server.address, script, operation.connections, 1)
        before = _cpu(server)
        load = await wrk.run(server.address, script, operation.connections, seconds)
        used = [after - before.get(pid, 0.0) for pid, after in _cpu(server).items()]
    if load.errors or not load.requests:
        raise BenchmarkFailed(f"{operation.title}: {load.errors} errors\n{server.last_words()}")
    if len(used) < workers:
        raise BenchmarkFailed(f"{len(used)} processes run where {workers} workers should.")
    return Turn(
        each=1_000 * sum(used) / load.requests,
        busiest=max(used) / sum(used),
        counted=load.requests / load.seconds,
    )


def _cpu(server: Server) -> dict[int, float]:
    return {pid: cpu_seconds([pid]) for pid in tree(server.pid)}
