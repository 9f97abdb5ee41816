"""Shares: a member who may update a row lets other members see or update it."""

import asyncio
from typing import Any

import httpx
import pytest

from tests.http.app import Json
from tests.http.entities.isolation.isolation import ABSENT
from tests.http.entities.ownership.tasks import OWNED, READ, WRITE, Tasks, told

SHARE = [f"share:{plural}" for plural in OWNED]


async def share(
    tasks: Tasks, name: str, user: str, level: str = "read", whom: str = "root in acme", plural: str = "tasks"
) -> httpx.Response:
    user_id = tasks.users.get(user, user)
    return await tasks.call("PUT", f"{plural}/{tasks.rows[name]}/shares/{user_id}", whom, json={"level": level})


async def shares_of(tasks: Tasks, name: str, whom: str = "root in acme") -> list[Json]:
    answer = await tasks.call("GET", f"tasks/{tasks.rows[name]}/shares", whom)
    assert answer.status_code == 200, answer.text
    items: list[Json] = answer.json()["data"]["items"]
    return items


async def change(tasks: Tasks, name: str, whom: str, plural: str = "tasks", **values: object) -> int:
    return (await tasks.call("PUT", f"{plural}/{tasks.rows[name]}", whom, json=values)).status_code


def details(answer: httpx.Response) -> list[tuple[str, str]]:
    return [(detail["field"], detail["message"]) for detail in answer.json()["error"]["details"]]


@pytest.mark.promise("PUT /api/{entities}/{id}/shares/{user_id}: the level read lets a member see the row")
@pytest.mark.promise("GET /api/{entities}/{id}/shares: the members who share the row, with names and levels")
async def test_a_share_of_level_read_shows_the_row(tasks: Tasks) -> None:
    row = f"tasks/{tasks.rows['of bob']}"
    version = (await tasks.call("GET", row)).json()["data"]["version"]
    answer = await share(tasks, "of bob", "ann")
    assert answer.status_code == 200
    shown = answer.json()["data"]
    assert {name: shown[name] for name in ("userId", "level")} == {"userId": tasks.users["ann"], "level": "read"}
    assert shown.keys() == {"userId", "fullName", "level", "createdAt", "createdBy"}
    assert await shares_of(tasks, "of bob") == [shown]
    assert (await tasks.call("GET", row, "ann")).json()["data"]["version"] == version
    assert "created by bob" in await tasks.titles()
    for path in (f"{row}/history", "tasks/export?format=json", "tasks/summary?group=title"):
        answer = await tasks.call("GET", path, "ann")
        assert answer.status_code == 200
        assert path.endswith("history") or "created by bob" in answer.text
    assert await change(tasks, "of bob", "ann", title="renamed") == 403
    for method, path in (("DELETE", row), ("POST", f"{row}/restore")):
        assert (await tasks.call(method, path, "ann")).status_code == 403
    assert "created by bob" not in await tasks.titles(whom="bob", query="?title=unassigned")


@pytest.mark.promise(
    "PUT /api/{entities}/{id}: a share of level update allows changes, and neither deletion nor restore"
)
@pytest.mark.parametrize(("plural", "name"), [("tasks", "of bob"), ("task-notes", "note of bob")])
async def test_a_share_of_level_update_allows_changes_only(tasks: Tasks, plural: str, name: str) -> None:
    bob = tasks.users["bob"]
    await tasks.make("task-notes", "note of bob", "bob", text="by bob", authorId=bob)
    assert (await share(tasks, name, "ann", "update", plural=plural)).status_code == 200
    field, row = "title" if plural == "tasks" else "text", tasks.rows[name]
    assert await change(tasks, name, "ann", plural, **{field: "x"}) == 200
    items = [{"id": row, field: "y"}]
    assert (await tasks.call("PUT", f"{plural}/batch", "ann", json={"items": items})).status_code == 200
    assert (await tasks.call("PATCH", f"{plural}/{row}", "ann", json={})).status_code == 200
    # a share of either level keeps the row visible after a change of its owner
    owner = "assigneeId" if plural == "tasks" else "authorId"
    assert await change(tasks, name, "ann", plural, **{owner: None}) == 200
    refused = await tasks.call("DELETE", f"{plural}/{row}", "ann")
    assert refused.status_code == 403
    refused = await tasks.call("DELETE", f"{plural}/batch", "ann", json={"ids": [row]})
    assert refused.status_code == 403
    assert (await tasks.call("DELETE", f"{plural}/{row}")).status_code == 204
    assert (await tasks.call("GET", f"{plural}/{row}", "ann")).status_code == 404
    for path in (f"{plural}/{row}/restore", f"{plural}/{ABSENT}/restore"):
        assert (await tasks.call("POST", path, "ann")).status_code == 404
    assert row not in (await tasks.call("GET", f"{plural}?includeDeleted=true", "ann")).text
    assert (await tasks.call("POST", f"{plural}/{row}/restore")).status_code == 200
    assert await change(tasks, name, "ann", plural, **{field: "z"}) == 200


async def test_a_user_who_reads_all_rows_updates_those_shared_with_them(tasks: Tasks) -> None:
    await tasks.add_user("editor", ["read:tasks", "update-own:tasks"])
    assert await change(tasks, "of bob", "editor", title="x") == 403
    await share(tasks, "of bob", "editor", "read")
    assert await change(tasks, "of bob", "editor", title="x") == 403
    await share(tasks, "of bob", "editor", "update")
    assert await change(tasks, "of bob", "editor", title="x") == 200
    # after the write the row is still shared
    assert await change(tasks, "of bob", "editor", assigneeId=tasks.users["bob"]) == 200


async def import_titles(tasks: Tasks, whom: str, text: str, **options: object) -> Json:
    files, sent = {"file": ("rows.csv", text)}, {"mode": "upsert", "key": "title", **options}
    answer = await tasks.app.call(
        "POST", "/api/tasks/import", as_whom=whom, files=files, data={"options": str(sent).replace("'", '"')}
    )
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()["data"]
    return found


@pytest.mark.promise("POST /api/{entities}/import: an upsert changes rows shared with the level update only")
async def test_an_import_changes_rows_under_a_share(tasks: Tasks) -> None:
    await share(tasks, "of bob", "ann", "update")
    await share(tasks, "of blue", "ann", "read")
    bob = tasks.users["bob"]
    text = f"title,assigneeId\ncreated by bob,{bob}\nof the blue team,{bob}\n"
    report = await import_titles(tasks, "ann", text)
    assert (report["imported"], [error["row"] for error in report["errors"]]) == (1, [3])
    rows = {
        name: (await tasks.call("GET", f"tasks/{tasks.rows[name]}")).json()["data"] for name in ("of bob", "of blue")
    }
    assert [rows[name]["assigneeId"] for name in ("of bob", "of blue")] == [bob, None]


@pytest.mark.promise("PUT /api/{entities}/{id}/shares/{user_id}: needs share, and a row that the caller may update")
async def test_only_a_caller_who_may_update_the_row_shares_it(tasks: Tasks) -> None:
    assert (await share(tasks, "created", "bob", whom="ann")).status_code == 403
    await tasks.add_user("carl", [*READ, *WRITE, *SHARE])
    await tasks.add_user("reader", ["read:tasks", "share:tasks"])
    assert (await share(tasks, "of bob", "ann", whom="reader")).status_code == 403
    row, absent = tasks.rows["of bob"], ABSENT
    for method, path in (("GET", "shares"), ("PUT", "shares/{}"), ("DELETE", "shares/{}")):
        body: dict[str, Any] = {"json": {"level": "read"}} if method == "PUT" else {}

        async def ask(
            row_id: str, whom: str, method: str = method, path: str = path, body: dict[str, Any] = body
        ) -> httpx.Response:
            return await tasks.call(method, f"tasks/{row_id}/{path.format(tasks.users['ann'])}", whom, **body)

        unseen = told(await ask(absent, "carl"))
        assert unseen[0] == 404
        assert told(await ask(row, "carl")) == unseen
        assert told(await ask(tasks.rows["deleted"], "carl")) == unseen
        assert (await ask(row, "reader")).status_code == 403
    assert await shares_of(tasks, "of bob") == []
    # a share of level read is not enough to share the row further, one of level update is
    await share(tasks, "of bob", "carl", "read")
    assert (await share(tasks, "of bob", "ann", whom="carl")).status_code == 403
    await share(tasks, "of bob", "carl", "update")
    assert (await share(tasks, "of bob", "ann", "update", "carl")).status_code == 200
    assert (await share(tasks, "of bob", "carl", "update", "carl")).status_code == 400
    await tasks.add_user("blind", ["update:tasks", "share:tasks"])
    assert (await share(tasks, "of bob", "ann", "read", "blind")).status_code == 403


@pytest.mark.promise("PUT /api/{entities}/{id}/shares/{user_id}: a user who is not a member is 400 on userId")
async def test_a_share_names_another_member_and_a_level(tasks: Tasks) -> None:
    await tasks.app.make_tenant("other")
    stranger = await tasks.app.make_user("other", "eve@other.example", ["Admin"])
    for user in (stranger, ABSENT):
        answer = await share(tasks, "created", user)
        assert answer.status_code == 400
        assert details(answer) == [("userId", "is not a member of this tenant")]
    assert details(await share(tasks, "created", "nobody")) == [("userId", "is not valid")]
    await tasks.add_user("owner", [*READ, *WRITE, *SHARE])
    await tasks.make("tasks", "theirs", "owner", title="theirs")
    answer = await share(tasks, "theirs", "owner", "update", "owner")
    assert details(answer) == [("userId", "is your own id: name another member")]
    for body in ({"level": "delete"}, {}, {"level": "read", "userId": stranger}):
        answer = await tasks.call(
            "PUT", f"tasks/{tasks.rows['theirs']}/shares/{tasks.users['ann']}", "owner", json=body
        )
        assert answer.status_code == 400
    assert await shares_of(tasks, "theirs", "owner") == []
    await tasks.app.login("eve", "eve@other.example")
    for name in ("theirs", "created"):
        answer = await tasks.call("GET", f"tasks/{tasks.rows[name]}/shares", "eve")
        assert told(answer) == told(await tasks.call("GET", f"tasks/{ABSENT}/shares", "eve"))
        assert answer.status_code == 404
        assert (await share(tasks, name, stranger, whom="eve")).status_code == 404


@pytest.mark.promise("DELETE /api/{entities}/{id}/shares/{user_id}: ends the share, and 404 without one")
@pytest.mark.promise("security, audit trail: each share of a row, each change of its level and its end are recorded")
async def test_a_share_changes_its_level_and_ends(tasks: Tasks) -> None:
    first = (await share(tasks, "of bob", "ann", "update")).json()["data"]
    again = (await share(tasks, "of bob", "ann", "read")).json()["data"]
    assert again == {**first, "level": "read"}
    assert (await share(tasks, "of bob", "ann", "read")).json()["data"] == again
    assert await change(tasks, "of bob", "ann", title="x") == 403
    path = f"tasks/{tasks.rows['of bob']}/shares/{tasks.users['ann']}"
    assert (await tasks.call("DELETE", path)).status_code == 204
    assert (await tasks.call("DELETE", path)).status_code == 404
    assert (await tasks.call("DELETE", path.replace(tasks.users["ann"], "x"))).status_code == 404
    assert await change(tasks, "of bob", "ann", title="x") == 404
    trail = (await tasks.call("GET", f"audit-events?targetId={tasks.users['ann']}")).json()["data"]["items"]
    row = f"tasks:{tasks.rows['of bob']}"
    actions = [line["action"] for line in trail if line["action"].startswith("row.")]
    assert sorted(actions) == sorted([f"row.unshared:{row}", f"row.shared:{row}:read", f"row.shared:{row}:update"])


async def test_the_shares_of_a_removed_member_and_of_a_purged_row_end(tasks: Tasks) -> None:
    await share(tasks, "of bob", "ann", "update")
    await share(tasks, "of blue", "ann", "update")
    tenants = (await tasks.call("GET", "tenants")).json()["data"]["items"]
    members = f"tenants/{next(each['id'] for each in tenants if each['identifier'] == 'acme')}/users"
    assert (await tasks.call("DELETE", f"tasks/{tasks.rows['of blue']}?permanent=true")).status_code == 204
    assert (await tasks.call("DELETE", f"{members}/{tasks.users['ann']}")).status_code == 200
    assert await shares_of(tasks, "of bob") == []
    joined = await tasks.call("POST", members, json={"userId": tasks.users["ann"], "roles": ["Role of ann"]})
    assert joined.status_code in (200, 201), joined.text
    await tasks.app.login("ann", "ann@acme.example")
    assert "created by bob" not in await tasks.titles()


@pytest.mark.promise("PUT /api/{entities}/{id}/shares/{user_id}: the 101st share of a row is refused as QUOTA_EXCEEDED")
async def test_concurrent_shares_do_not_exceed_the_quota(tasks: Tasks) -> None:
    users = [await tasks.app.make_user("acme", f"u{number}@acme.example", ["Role of ann"]) for number in range(110)]
    first, rest = users[:90], users[90:]
    answers = await asyncio.gather(*(share(tasks, "of bob", user) for user in first))
    assert {answer.status_code for answer in answers} == {200}
    answers = await asyncio.gather(*(share(tasks, "of bob", user) for user in [*rest, *first]))
    refused = [answer.json()["error"]["code"] for answer in answers if answer.status_code == 403]
    assert refused == ["QUOTA_EXCEEDED"] * 10
    assert len(await shares_of(tasks, "of bob")) == 100
    assert (await share(tasks, "of bob", first[0], "update")).status_code == 200
