"""Results of fixtures are not written out around each test: see ``pytest_sessionstart`` in ``conftest.py``."""

from collections.abc import AsyncIterator

import pytest


class Counted:
    """An object that counts how often its ``repr`` is asked for."""

    def __init__(self) -> None:
        self.times = 0

    def __repr__(self) -> str:
        self.times += 1
        return "Counted"


@pytest.fixture
async def returned() -> Counted:
    return Counted()


@pytest.fixture
async def yielded() -> AsyncIterator[Counted]:
    counted = Counted()
    yield counted
    assert counted.times == 0


async def test_asyncio_does_not_request_the_repr_of_fixture_values(returned: Counted, yielded: Counted) -> None:
    assert (returned.times, yielded.times) == (0, 0)
