"""Load that wrk cannot make: requests that depend on the last response, uploads, streamed responses.

``python -m benchmarks.client`` reads a job from standard input and writes its measurements to standard output.
"""

import asyncio
import sys
import time
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct, json

from benchmarks.failures import BenchmarkFailed
from benchmarks.measures import Load, percentile
from benchmarks.requests import Request, numbered

GRACE = 30.0
PATIENCE = 20.0
NEXT = "$next"


class Follow(Struct, frozen=True):
    """Requests after the first: ``$next`` in ``request`` is replaced from the last response's JSON.

    A response without the value ends the walk, and the next one begins.
    """

    request: Request
    take: tuple[str, ...]


class Job(Struct, frozen=True, kw_only=True):
    port: int
    connections: int
    seconds: float
    requests: tuple[Request, ...]
    first_number: int = 0
    follow: Follow | None = None


class Seen(Struct, frozen=True, kw_only=True):
    """Measurements: ``times`` in milliseconds, ``failures`` are responses other than 2xx."""

    times: list[float]
    failures: list[str]
    seconds: float


class Answer(Struct, frozen=True):
    status: int
    body: bytes


class Line:
    """A connection that stays open."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, port: int) -> "Line":
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=2**22))

    @property
    def is_ended(self) -> bool:
        """Whether the server has closed it, as it does with one that says nothing for half a minute."""
        return self._reader.at_eof()

    async def ask(self, text: str) -> Answer:
        self._writer.write(text.encode("ascii"))
        head = await self._reader.readuntil(b"\r\n\r\n")
        status, headers = _head(head)
        if headers.get(b"transfer-encoding") == b"chunked":
            return Answer(status, await self._chunks())
        return Answer(status, await self._reader.readexactly(int(headers.get(b"content-length", 0))))

    async def _chunks(self) -> bytes:
        pieces = []
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            pieces.append(await self._reader.readexactly(size))
            await self._reader.readexactly(2)
        await self._reader.readexactly(2)
        return b"".join(pieces)

    def close(self) -> None:
        self._writer.close()


def _head(head: bytes) -> tuple[int, dict[bytes, bytes]]:
    first, *lines = head[:-4].split(b"\r\n")
    pairs = (line.split(b":", 1) for line in lines)
    return int(first.split(b" ", 2)[1]), {name.lower(): value.strip().lower() for name, value in pairs}


class Walker:
    """A connection's share of the job: sequential requests until the time is over."""

    def __init__(self, job: Job, share: int) -> None:
        self._job, self._share = job, share
        self._sent = 0
        self._number = job.first_number + share * 10_000_000 // job.connections
        self._next: str | None = None
        self.seen = Seen(times=[], failures=[], seconds=0.0)

    async def walk(self, until: float) -> None:
        line = await Line.open(self._job.port)
        try:
            while time.perf_counter() < until and not self.seen.failures:
                await self._ask(line)
        finally:
            line.close()

    async def _ask(self, line: Line) -> None:
        text, is_counted = self._text()
        started = time.perf_counter()
        try:
            answer = await asyncio.wait_for(line.ask(text), PATIENCE)
        except (OSError, EOFError, TimeoutError) as error:
            self.seen.failures.append(f"{type(error).__name__}: {error}")
            return
        if is_counted:
            self.seen.times.append((time.perf_counter() - started) * 1e3)
        if not 200 <= answer.status < 300:
            self.seen.failures.append(f"{answer.status}: {answer.body[:300]!r}")
        elif self._job.follow is not None:
            self._next = _taken(answer.body, self._job.follow.take)

    def _text(self) -> tuple[str, bool]:
        """The next request, and whether it counts: a request that only begins a walk does not."""
        if self._job.follow is not None and self._next is not None:
            return followed(self._job.follow.request, self._next).wire(), True
        requests = self._job.requests
        request = requests[(self._share + self._sent * self._job.connections) % len(requests)]
        self._sent += 1
        text, self._number = numbered(request.wire(), self._number)
        return text, self._job.follow is None


def followed(request: Request, value: str) -> Request:
    path, body = request.path.replace(NEXT, value), request.body.replace(NEXT, value)
    return msgspec.structs.replace(request, path=path, body=body)


def _taken(body: bytes, keys: Sequence[str]) -> str | None:
    value: Any = json.decode(body)
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return None if value is None else str(value)


async def work(job: Job) -> Seen:
    walkers = [Walker(job, share) for share in range(job.connections)]
    started = time.perf_counter()
    await asyncio.gather(*(walker.walk(started + job.seconds) for walker in walkers))
    return Seen(
        times=[took for walker in walkers for took in walker.seen.times],
        failures=[failure for walker in walkers for failure in walker.seen.failures],
        seconds=time.perf_counter() - started,
    )


def summary(parts: Sequence[Seen]) -> Load:
    """The measurements of all connections. Raises BenchmarkFailed without any response."""
    times = sorted(took for part in parts for took in part.times)
    failures = [failure for part in parts for failure in part.failures]
    if failures or not times:
        raise BenchmarkFailed("; ".join(failures[:3]) or "nothing was answered")
    longest = max(part.seconds for part in parts)
    return Load(requests=len(times), seconds=longest, p50=percentile(times, 50), p99=percentile(times, 99))


async def run(job: Job, processes: int = 1) -> Load:
    """Runs the job in several processes, so that none of them is the bottleneck."""
    processes = min(processes, job.connections)
    shares = [
        msgspec.structs.replace(
            job,
            connections=job.connections // processes + (number < job.connections % processes),
            first_number=job.first_number + number * 10_000_000,
            requests=job.requests[number:] + job.requests[:number],
        )
        for number in range(processes)
    ]
    return summary(await asyncio.gather(*map(_elsewhere, shares)))


async def _elsewhere(job: Job) -> Seen:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "benchmarks.client", stdin=pipe, stdout=pipe)
    try:
        output, _ = await asyncio.wait_for(process.communicate(json.encode(job)), job.seconds + GRACE)
    except TimeoutError:
        process.kill()
        raise BenchmarkFailed("a load process did not end in time") from None
    if process.returncode:
        raise BenchmarkFailed("a load process broke")
    return json.decode(output, type=Seen)


def main() -> None:
    seen = asyncio.run(work(json.decode(sys.stdin.buffer.read(), type=Job)))
    sys.stdout.buffer.write(json.encode(seen))


if __name__ == "__main__":
    main()
