"""Servers of their own for the tests of faults; the long ones run by `make faults` alone."""

from collections.abc import AsyncIterator

import pytest

from tests.faults.rig import Rig, rig_on


@pytest.fixture(scope="module")
async def rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    async with rig_on(tmp_path_factory.mktemp("faults")) as rig:
        yield rig
