"""Work in a process of its own: what comes back from it, and that nothing else does."""

import subprocess
import sys

import pytest

from tests.entrypoints.processes import environment
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
def test_what_it_answers_and_refuses_comes_back_and_its_memory_does_not() -> None:
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
