"""`/api/system/traffic`: who is told the requests of the last hours."""

import pytest

from tests.http.app import TestApp


@pytest.mark.promise("GET /api/system/traffic: for super-admins only")
@pytest.mark.parametrize(("whom", "status"), [("root", 200), ("acme", 403), (None, 401)])
async def test_it_is_for_super_admins(app: TestApp, whom: str | None, status: int) -> None:
    answer = await app.call("GET", "/api/system/traffic", as_whom=whom)
    assert answer.status_code == status
    if status == 200:
        points = answer.json()["data"]["points"]
        assert points[-1].keys() == {"at", "seconds", "requests", "errors", "refused", "p50", "p99"}
        assert sum(point["requests"] for point in points) >= 5
