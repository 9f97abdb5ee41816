"""Load by wrk: a Lua script with every request prepared, and a report as one line of JSON."""

import asyncio
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.failures import BenchmarkFailed
from benchmarks.measures import Load
from benchmarks.requests import MARK, Request

REPORT = "report "
GRACE = 10.0

_SCRIPT = """
local requests = {
%s
}
local numbered, number, at = %s, %d, 0
local function next_number()
  number = number + 1
  return string.format("%%09d", number - 1)
end
function request()
  at = at %% #requests + 1
  if not numbered then return requests[at] end
  return (string.gsub(requests[at], "%s", next_number))
end
function done(summary, latency, _)
  local e = summary.errors
  io.write(string.format(
    '%s{"requests": %%d, "microseconds": %%d, "p50": %%d, "p99": %%d, "socket": %%d, "status": %%d, "timeout": %%d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write, e.status, e.timeout))
end
"""


def ensure_wrk() -> None:
    if shutil.which("wrk") is None:
        raise BenchmarkFailed("The load generator wrk is missing: on Debian, `apt-get install wrk` brings it.")


def script(requests: Sequence[Request], first_number: int) -> str:
    """The Lua script; escapes of JSON are valid in Lua as long as the text is ASCII."""
    texts = [request.wire() for request in requests]
    assert all(text.isascii() for text in texts), "a request is not ASCII"
    is_numbered = "true" if any(MARK in text for text in texts) else "false"
    return _SCRIPT % (",\n".join(map(json.dumps, texts)), is_numbered, first_number, MARK, REPORT)


class _Report(msgspec.Struct):
    requests: int
    microseconds: int
    p50: int
    p99: int
    socket: int
    status: int
    timeout: int


def read_report(output: str) -> Load:
    """The report of wrk. Raises BenchmarkFailed when there is none."""
    lines = [line for line in output.splitlines() if line.startswith(REPORT)]
    if not lines:
        raise BenchmarkFailed(f"wrk did not report:\n{output}")
    said = msgspec.json.decode(lines[-1].removeprefix(REPORT), type=_Report)
    return Load(
        requests=said.requests,
        seconds=said.microseconds / 1e6,
        p50=said.p50 / 1e3,
        p99=said.p99 / 1e3,
        errors=said.socket + said.status + said.timeout,
    )


async def run(address: str, script_file: Path, connections: int, seconds: float) -> Load:
    arguments = ["-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout", "10s", "-s", str(script_file)]
    process = await asyncio.create_subprocess_exec(
        "wrk", *arguments, address, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), seconds + GRACE)
    except TimeoutError:
        process.kill()
        raise BenchmarkFailed("wrk did not end in time.") from None
    return read_report(output.decode())
