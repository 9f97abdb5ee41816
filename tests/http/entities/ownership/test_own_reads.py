"""What a member reads who may read only own rows."""

import pytest

from adapters.postgres.entities.reading.own_keys import MOST_KEYS
from tests.http.entities.ownership.tasks import READ, Tasks

OWN = ["assigned to ann", "created by ann", "of the red team"]
ALL = sorted([*OWN, "created by bob", "of the blue team", "unassigned"])


@pytest.mark.promise("GET /api/{entities}: read-own lists only own rows, and counts no others")
async def test_a_list_has_only_own_rows(tasks: Tasks) -> None:
    assert await tasks.titles() == OWN
    assert await tasks.titles(whom="root in acme") == ALL
    page = (await tasks.call("GET", "tasks?pageSize=1", "ann")).json()["data"]
    assert (page["totalCount"], page["hasNextPage"]) == (3, True)
    last = (await tasks.call("GET", "tasks?pageSize=3", "ann")).json()["data"]
    assert (last["totalCount"], last["hasNextPage"]) == (3, False)
    assert await tasks.titles("?search=team") == ["of the red team"]
    assert await tasks.titles("?sort=title:desc") == OWN[::-1]
    assert await tasks.titles("?includeDeleted=true") == sorted([*OWN, "deleted by ann"])


@pytest.mark.promise("GET /api/{entities}/export: read-own exports only own rows")
async def test_an_export_has_only_own_rows(tasks: Tasks) -> None:
    for form in ("csv", "json"):
        text = (await tasks.call("GET", f"tasks/export?format={form}", "ann")).text
        assert [title for title in ALL if title in text] == OWN


@pytest.mark.promise("GET /api/{entities}/summary: read-own counts only own rows, also those of relations")
async def test_a_summary_counts_only_own_rows(tasks: Tasks) -> None:
    async def groups(query: str, whom: str = "ann") -> list[tuple[object, ...]]:
        answer = (await tasks.call("GET", query, whom)).json()["data"]["groups"]
        return [(*group["key"].values(), group["count"]) for group in answer]

    assert await groups("tasks/summary") == [(3,)]
    assert await groups("tasks/summary", "root in acme") == [(6,)]
    assert await groups("tasks/summary?group=team.name") == [("Red", 1), (None, 2)]
    assert await groups("teams/summary?tasks.title.contains=blue") == [(0,)]
    await tasks.make("task-notes", "note", text="a", authorId=tasks.users["ann"], taskId=tasks.rows["of bob"])
    # the title of a task that is not own is null
    assert await groups("task-notes/summary?group=task.title") == [(None, 1)]


async def test_members_of_very_many_rows_see_the_same(tasks: Tasks) -> None:
    async def seen() -> list[list[str]]:
        return [await tasks.titles(query) for query in ("", "?search=team", "?team.name=Red", "?includeDeleted=true")]

    before, ids = await seen(), {"teamId": tasks.rows["red"], "userId": tasks.users["ann"]}
    for _ in range(2):
        answer = await tasks.call("POST", "team-members/batch", json={"items": [ids] * (MOST_KEYS // 2 + 1)})
        assert answer.status_code == 200, answer.text
    assert await seen() == before


async def test_related_rows_of_other_users_are_not_included(tasks: Tasks) -> None:
    await tasks.make("tasks", "second", title="second of red", teamId=tasks.rows["red"])
    await tasks.make("task-notes", "note", text="ann's", authorId=tasks.users["ann"], taskId=tasks.rows["of bob"])
    await tasks.make("task-notes", "other", text="bob's", authorId=tasks.users["bob"], taskId=tasks.rows["created"])
    teams = (await tasks.call("GET", "teams?include=tasks,members&sort=name", "ann")).json()["data"]["items"]
    assert [[task["title"] for task in team["tasks"]] for team in teams] == [[], ["of the red team", "second of red"]]
    assert [[member["userId"] for member in team["members"]] for team in teams] == [[], [tasks.users["ann"]]]
    (note,) = (await tasks.call("GET", "task-notes?include=task", "ann")).json()["data"]["items"]
    assert note["text"] == "ann's"
    assert note["task"] is None
    created = (await tasks.call("GET", f"tasks/{tasks.rows['created']}?include=notes", "ann")).json()["data"]
    assert (created["notes"], created["notesHasMore"]) == ([], False)


@pytest.mark.promise("entities, own rows: Filters and sorts through relations to rows of other users match nothing")
async def test_filters_and_sorts_match_no_rows_of_other_users(tasks: Tasks) -> None:
    async def teams(query: str, whom: str) -> list[str]:
        answer = await tasks.call("GET", f"teams?{query}", whom)
        return [team["name"] for team in answer.json()["data"]["items"]]

    assert await teams("tasks.title.contains=blue", "root in acme") == ["Blue"]
    assert await teams("tasks.title.contains=blue", "ann") == []
    assert await teams(f"members.userId={tasks.users['bob']}", "root in acme") == ["Blue"]
    assert await teams(f"members.userId={tasks.users['bob']}", "ann") == []
    for name, task in (("a", "of nobody"), ("b", "of bob"), ("c", "created")):
        await tasks.make("task-notes", name, text=name, authorId=tasks.users["ann"], taskId=tasks.rows[task])
    notes = (await tasks.call("GET", "task-notes?sort=task.title,text", "ann")).json()["data"]["items"]
    # the titles of both tasks that are not own count as null
    assert [note["text"] for note in notes] == ["c", "a", "b"]


@pytest.mark.promise("entities, own rows: A caller with the permission for all rows sees all rows")
async def test_permissions_decide_who_is_limited(tasks: Tasks) -> None:
    await tasks.add_user("reader", ["read:tasks", "read-own:tasks"])
    await tasks.add_user("stranger", ["read:teams"])
    assert await tasks.titles(whom="reader") == ALL
    for path in ("tasks", f"tasks/{tasks.rows['of bob']}", "tasks/export", "teams?include=tasks"):
        assert (await tasks.call("GET", path, "stranger")).status_code == 403
    assert (await tasks.call("GET", "tasks?includeDeleted=true", "reader")).status_code == 403


@pytest.mark.promise("GET /api/entities: it names what the caller may do only to own rows")
async def test_a_description_names_the_limits(tasks: Tasks) -> None:
    described = (await tasks.call("GET", "entities", "ann")).json()["data"]["entities"]
    limits = {each["plural"]: (each["own"], each["may"]["read"], each["may"]["update"]) for each in described}
    assert limits == {
        "teams": ([], True, False),
        "team-members": (["read"], True, False),
        "tasks": (["read", "update", "delete"], True, True),
        "task-notes": (["read", "update", "delete"], True, True),
        "bookings": (["read", "update", "delete"], True, True),
    }
    described = (await tasks.call("GET", "entities")).json()["data"]["entities"]
    assert [each["own"] for each in described if each["plural"] == "tasks"] == [[]]
    assert "read-own:tasks" in READ
