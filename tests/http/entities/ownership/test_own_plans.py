"""Plans and indexes of pages of own rows."""

import asyncpg
import pytest

from adapters.postgres.entities.reading.plans import OWN, plans_of
from domain.entities.declaration import Registry
from domain.entities.query.kinds import leads_an_index


@pytest.mark.promise("entities, own rows: tenantry entities --plans shows the plan of a caller limited to own rows")
async def test_the_plans_show_a_page_of_own_rows(tasks_url: str, tasks_registry: Registry) -> None:
    planned = await plans_of(tasks_url, tasks_registry)
    scans = {plural: plan.scans for plural, plans in planned.items() for plan in plans if plan.asked == OWN}
    assert scans == {"team-members": None, "tasks": None, "task-notes": None, "bookings": None, "boards": None}


async def test_each_rule_has_an_index(tasks_url: str, tasks_registry: Registry) -> None:
    connection = await asyncpg.connect(tasks_url)
    try:
        rows = await connection.fetch(
            "SELECT indexdef FROM pg_indexes WHERE indexname ~ '_own_' AND tablename ~ '^(task|team|booking)'"
        )
    finally:
        await connection.close()
    keys = sorted(row["indexdef"].partition(" USING btree ")[2].partition(" WHERE ")[0] for row in rows)
    assert keys == [
        "(tenant_id, assignee_id, title, id)",
        "(tenant_id, author_id, text, id)",
        "(tenant_id, created_by, created_at, id)",
        "(tenant_id, created_by, title, id)",
        "(tenant_id, user_id, created_at, id)",
        "(tenant_id, user_id, team_id)",
    ]
    tasks = tasks_registry["tasks"]
    assert [name for name in ("created_by", "assignee_id") if leads_an_index(tasks, tasks.by_name[name])] == [
        "created_by",
        "assignee_id",
    ]
