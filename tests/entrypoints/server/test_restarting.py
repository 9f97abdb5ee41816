"""Workers that end within seconds: a service that was ready starts others, one that never was ends."""

import subprocess
import sys

import pytest

from entrypoints.server.restarting import FIRST_PAUSE, LONGEST_PAUSE, pauses
from tests.entrypoints.processes import ROOT, environment, eventually, free_port, is_gone
from tests.waiting import HUNG_AFTER

FAILING = """
import os, sys
from granian import Granian
from granian.constants import Interfaces
from entrypoints.server.restarting import serve_until_stopped

def made():
    return Granian("none:none", port=int(sys.argv[1]), interface=Interfaces.ASGI, respawn_failed_workers=True)

serve_until_stopped(made, lambda: os._exit(9), lambda: sys.argv[2] == "ready")
"""
"""A server with workers that end at once."""


def started(state: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", FAILING, str(free_port()), state]
    return subprocess.Popen(command, cwd=ROOT, env=environment({}), stderr=subprocess.PIPE, text=True)


@pytest.mark.promise("security, faults: a service with workers that cannot start ends")
def test_a_service_that_was_never_ready_ends() -> None:
    with started("starting") as process:
        _, errors = process.communicate(timeout=HUNG_AFTER)
    assert process.returncode == 1
    assert "again and again" not in errors


@pytest.mark.parametrize("restarts", [1, 2])
def test_a_service_that_was_ready_restarts_until_sigterm(restarts: int) -> None:
    with started("ready") as process:
        assert process.stderr is not None
        pauses_said = (line for line in process.stderr if "again and again" in line)
        said = [next(pauses_said) for _ in range(restarts)]
        process.terminate()
        assert process.wait(HUNG_AFTER) == 0
    assert f"in {FIRST_PAUSE * 2 ** (restarts - 1):g} seconds" in said[-1]
    eventually(lambda: is_gone(process.pid))


def test_pauses_double_up_to_the_longest() -> None:
    growing = pauses()
    first = [next(growing) for _ in range(4)]
    assert first == [FIRST_PAUSE * 2**n for n in range(4)]
    assert max(next(growing) for _ in range(10)) == next(growing) == LONGEST_PAUSE
