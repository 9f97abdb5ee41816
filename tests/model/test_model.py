"""Whatever people do, everyone sees what the model says: on the memory adapters; on two processes by `make fuzz`."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.conftest import NewDatabase
from tests.entrypoints.pair import pair_on
from tests.examples import ASKED
from tests.model.clients import ServiceClient, memory_clients, process_clients
from tests.model.machine import STEPS, Machine

pytestmark = [pytest.mark.drawn, pytest.mark.timeout(3600 if ASKED else 300)]


Clients = Callable[[], AbstractContextManager[list[ServiceClient]]]


def tried(clients: Clients, runs: int, steps: int) -> None:
    """Runs machines through these clients; `-rP` shows how much they did."""
    before = STEPS.total()
    machine = type("MachineWithClients", (Machine,), {"open_clients": staticmethod(clients)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=runs,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            derandomize=not ASKED,
        ),
    )
    sys.stdout.write(f"{dict(STEPS)}\n")
    assert STEPS.total() - before > runs * steps


@pytest.mark.promise(
    "security, faults: Whatever people do, in whatever order, everyone sees what a small model of tenants, users, "
    "roles, sessions and rows says, at each of two processes"
)
def test_the_memory_database_behaves_like_the_model() -> None:
    tried(memory_clients, max(3, ASKED // 4), 20)


@pytest.mark.promise(
    "security, faults: Whatever people do, in whatever order, everyone sees what a small model of tenants, users, "
    "roles, sessions and rows says, at each of two processes"
)
@pytest.mark.skipif(not ASKED, reason="`make fuzz` runs it")
async def test_two_processes_behave_like_the_model(
    new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("model")
    async with pair_on(folder, await new_database(), RATE_LIMITS="count") as pair:
        urls = [client.served.url for client in pair.clients]
        await asyncio.to_thread(tried, partial(process_clients, urls), max(1, ASKED // 10), 50)
