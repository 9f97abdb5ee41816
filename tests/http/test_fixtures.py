"""Fixtures of this folder are told in few words.

asyncio sets the handler of SIGINT around each fixture and each test, and sets it back. In doing so ``signal`` makes and
drops a message with the ``repr`` of the task and of its result. Of an application whose ``repr`` tells everything that
is stored, this took three quarters of the CPU time of the tests in this folder.
"""

from tests.http.app import TestApp
from tests.http.two_tenants import TwoTenants

FEW = 2_000
"""Characters; an application with all that it stores has hundreds of thousands."""


async def test_an_application_is_told_in_few_words(app: TestApp, tenants: TwoTenants) -> None:
    told = {type(it).__name__: len(repr(it)) for it in (app, app.adapters, app.services, tenants)}
    assert {name: length for name, length in told.items() if length > FEW} == {}
