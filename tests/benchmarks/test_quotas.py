"""Processes that are held to a part of a core."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.quotas import held

SPINS = """
import sys, time
for _ in sys.stdin:
    started, used = time.monotonic(), time.process_time()
    while time.monotonic() - started < 0.4:
        pass
    print(time.process_time() - used, flush=True)
"""


def test_a_process_has_its_part_of_a_core_and_the_whole_afterwards() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SPINS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        group = Path(f"/proc/{process.pid}/cgroup")
        before = group.read_text()
        with held([process.pid], 0.25) as is_held:
            if not is_held:
                process.terminate()
                pytest.skip("control groups take root's rights")
            assert group.read_text() != before
            assert _used(process) < 0.2  # of 0.4 seconds
        assert group.read_text() == before
        process.terminate()


def test_a_process_that_is_gone_is_not_held() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    with held([process.pid], 0.25) as is_held:
        assert not is_held


def _used(process: "subprocess.Popen[str]") -> float:
    """Seconds of CPU that the process used in the 0.4 seconds after a line."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return float(process.stdout.readline())
