"""Work in a process of its own: what comes back from it, and that nothing else does.

Signals that reach a worker between its startup and its serving, when its loop does not run.

``Server-Timing`` of a service as it is started, on real servers.
"""

import re
import subprocess
import sys
import urllib.request

import pytest

from tests.entrypoints.processes import ROOT, Serve, environment
from tests.waiting import HUNG_AFTER

TRIED = """
import os, sys
from entrypoints.server.run_in_child import run_in_child
from entrypoints.terminal.errors import CommandError

def refuse():
    raise CommandError("not now", 5)

def take_memory():
    import decimal
    return "decimal" in sys.modules

beside = []
kept = run_in_child(take_memory, lambda: beside.append("beside"))
print(kept, "decimal" in sys.modules, *beside)
for work in (refuse, lambda: os._exit(9), lambda: 1 // 0):
    try:
        run_in_child(work)
    except CommandError as refusal:
        print(refusal.exit_code, refusal)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
def test_a_worker_process_returns_results_and_errors_and_frees_its_memory() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", TRIED],
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=HUNG_AFTER,
        check=True,
    )
    answered, refused, died, raised = ended.stdout.splitlines()
    assert answered == "True False beside"
    assert refused == "5 not now"
    assert died == raised == "1 The start was broken off: the lines above say why."
    assert "ZeroDivisionError" in ended.stderr


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


def test_a_page_of_a_real_service_says_its_stages(serve: Serve, migrated: dict[str, str]) -> None:
    served = serve(SERVER_TIMING="on", **migrated)
    token = served.log_in(migrated["ADMIN_PASSWORD"])
    request = urllib.request.Request(f"{served.url}/api/products", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=HUNG_AFTER) as answer:
        shown = dict(re.findall(r"([a-z]+);dur=([0-9.]+)", answer.headers["Server-Timing"]))
    assert list(shown) == ["routing", "token", "limits", "work", "database", "total"]
    assert float(shown["database"]) > 0.05
    assert float(shown["limits"]) > 0.02
