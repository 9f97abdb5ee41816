"""Commands on Redis clusters and on masters that sentinels name: addresses that fit, and those that do not."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.entrypoints.processes import Tenantry
from tests.redis_cluster import ask, open_cluster
from tests.redis_sentinels import open_sentinels
from tests.redis_server import RedisServer

pytestmark = pytest.mark.end_to_end


async def test_a_cluster_is_checked_and_other_addresses_are_told(
    tenantry: Tenantry, shared: dict[str, str], tmp_path: Path
) -> None:
    lone = RedisServer(tmp_path)
    async with open_cluster(tmp_path) as cluster, AsyncExitStack() as stack:
        stack.callback(lone.kill)
        assert tenantry("migrate", **shared).returncode == 0
        checked = tenantry("check", **{**shared, "REDIS_URL": cluster.url})
        assert (checked.returncode, "redis:     answers" in checked.stdout) == (0, True), checked.stdout
        await ask(cluster.masters[1], "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        assert (
            "CONFIG SET maxmemory-policy noeviction"
            in tenantry("doctor", **{**shared, "REDIS_URL": cluster.url}).stdout
        )
        node = f"redis://127.0.0.1:{cluster.masters[0].port}"
        lone.start()
        single = f"redis+cluster://127.0.0.1:{lone.port}"
        for url, said in ((node, "names a node of a cluster"), (single, "127.0.0.1 is in none")):
            told = tenantry("check", **{**shared, "REDIS_URL": url})
            assert (told.returncode, said in told.stdout, "Traceback" in told.stderr) == (1, True, False), told.stdout


async def test_a_master_is_found_by_its_name(tenantry: Tenantry, shared: dict[str, str], tmp_path: Path) -> None:
    async with open_sentinels(tmp_path) as watched:
        assert tenantry("migrate", **shared).returncode == 0
        checked = tenantry("check", **{**shared, "REDIS_URL": watched.url})
        assert (checked.returncode, "redis:     answers" in checked.stdout) == (0, True), checked.stdout
        wrong = watched.url.replace("/main/", "/mein/")
        told = tenantry("check", **{**shared, "REDIS_URL": wrong})
        assert told.returncode == 1
        assert "watch no master called mein; there are: main." in told.stdout
        number = watched.url.replace("/3", "/99")
        assert "Redis has no database 99" in tenantry("check", **{**shared, "REDIS_URL": number}).stdout


@pytest.mark.parametrize("url", ["redis+sentinel://127.0.0.1:1/main", "redis+cluster://127.0.0.1:1"])
def test_a_group_that_is_away_is_told(tenantry: Tenantry, shared: dict[str, str], url: str) -> None:
    assert tenantry("migrate", **shared).returncode == 0
    checked = tenantry("check", **{**shared, "REDIS_URL": url})
    assert (checked.returncode, "Redis does not answer" in checked.stdout) == (1, True), checked.stdout
