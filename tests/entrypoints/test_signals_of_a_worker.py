"""Signals that reach a worker between its startup and its serving, when its loop does not run."""

import subprocess
import sys

from tests.entrypoints.processes import ROOT
from tests.waiting import HUNG_AFTER

WORKER = """
import asyncio, os, signal
import uvloop
from entrypoints.server.worker import heeding_signals

loop, told = uvloop.new_event_loop(), asyncio.Event()
asyncio.set_event_loop(loop)
loop.add_signal_handler(signal.SIGTERM, told.set)  # as granian does
heeding = heeding_signals()
loop.run_until_complete(heeding.__aenter__())
os.kill(os.getpid(), signal.SIGTERM)
loop.run_until_complete(told.wait())
loop.run_until_complete(heeding.__aexit__(None, None, None))
print("heard")
"""


def test_a_signal_between_startup_and_serving_is_heard() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", WORKER], cwd=ROOT, capture_output=True, text=True, timeout=HUNG_AFTER, check=False
    )
    assert ended.stdout == "heard\n", ended.stderr
