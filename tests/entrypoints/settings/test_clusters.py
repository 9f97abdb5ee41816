"""Settings of a Citus cluster."""

import pytest

from entrypoints.cli.reports.plans import plans
from entrypoints.settings.settings import read_settings
from entrypoints.terminal.errors import CommandError
from tests.entrypoints.settings.test_settings import given, mistakes


def test_a_cluster_has_a_coordinator_and_neither_pooler_nor_replicas() -> None:
    (mistake,) = mistakes(given(DATABASE_KIND="citus"))
    assert "coordinator" in mistake
    found = mistakes(given(DATABASE_KIND="citus", DATABASE_URL="postgresql://h/d", DATABASE_POOLER="session"))
    assert [text.split()[0] for text in found] == ["TENANTRY_DATABASE_POOLER"]
    cluster = given(DATABASE_KIND="citus", DATABASE_URL="postgresql://h/d", DATABASE_POOLER="none")
    assert read_settings(cluster).database_kind == "citus"


async def test_plans_of_one_server_are_not_those_of_a_cluster() -> None:
    with pytest.raises(CommandError, match="Citus"):
        await plans(read_settings(given(DATABASE_KIND="citus", DATABASE_URL="postgresql://h/d")))
