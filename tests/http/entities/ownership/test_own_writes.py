"""What a member writes who may read and write only own rows, and one who reads all rows and writes own rows."""

from typing import Any

import httpx
import pytest

from domain.errors import NotYours
from tests.http.app import Json
from tests.http.entities.isolation.isolation import ABSENT
from tests.http.entities.ownership.tasks import Tasks, told

EDITOR = ["read:tasks", "read:task-notes", "update-own:tasks", "delete-own:tasks", "update-own:task-notes"]
OTHERS = ("of bob", "of blue", "of nobody")

WRITES: dict[str, tuple[str, str, Any]] = {
    "put": ("PUT", "tasks/{}", {"title": "mine now"}),
    "put nothing": ("PUT", "tasks/{}", {}),
    "patch": ("PATCH", "tasks/{}", {"assigneeId": "ann"}),
    "delete": ("DELETE", "tasks/{}", None),
    "restore": ("POST", "tasks/{}/restore", None),
    "batch update": ("PUT", "tasks/batch", {"items": [{"id": "created"}, {"id": "{}", "title": "mine now"}]}),
    "batch of one": ("PUT", "tasks/batch", {"items": [{"id": "{}", "title": "mine now"}]}),
    "batch delete": ("DELETE", "tasks/batch", {"ids": ["created", "{}"]}),
    "batch delete by post": ("POST", "tasks/batch/delete", {"ids": ["{}"]}),
}


async def write(tasks: Tasks, name: str, row_id: str, whom: str, **more: Any) -> httpx.Response:
    method, path, body = WRITES[name]

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: filled(item) for key, item in value.items()}
        if isinstance(value, list):
            return [filled(item) for item in value]
        return {"{}": row_id, "ann": tasks.users["ann"], **tasks.rows}.get(value, value)

    sent = {} if body is None else {"json": filled(body)}
    return await tasks.call(method, path.format(row_id), whom, **sent, **more)


async def stored(tasks: Tasks, plural: str = "tasks") -> list[Json]:
    answer = await tasks.call("GET", f"{plural}?includeDeleted=true&sort=id&pageSize=100")
    rows: list[Json] = answer.json()["data"]["items"]
    return rows


@pytest.mark.promise("PUT /api/{entities}/{id}: with update-own, another user's row is answered like an absent row")
@pytest.mark.promise("DELETE /api/{entities}/{id}: with delete-own, another user's row is answered like an absent row")
@pytest.mark.parametrize("name", WRITES)
async def test_a_write_of_an_invisible_row_is_answered_like_one_of_an_absent_row(tasks: Tasks, name: str) -> None:
    before, absent = await stored(tasks), told(await write(tasks, name, ABSENT, "ann"))
    assert absent[0] == 404
    for other in OTHERS:
        assert told(await write(tasks, name, tasks.rows[other], "ann")) == absent
    assert await stored(tasks) == before


@pytest.mark.promise("PUT /api/{entities}/{id}: update-own changes own rows, by every kind of rule")
async def test_own_rows_are_changed_deleted_and_restored(tasks: Tasks) -> None:
    for number, name in enumerate(("created", "assigned", "of team")):
        row_id = tasks.rows[name]
        assert (await tasks.call("PUT", f"tasks/{row_id}", "ann", json={"title": f"t{number}"})).status_code == 200
        items = [{"id": row_id, "title": f"u{number}", "version": 2}]
        assert (await tasks.call("PUT", "tasks/batch", "ann", json={"items": items})).status_code == 200
        stale = await tasks.call("PUT", f"tasks/{row_id}", "ann", json={"title": "v"}, headers={"If-Match": '"9"'})
        assert stale.status_code == 412
        assert (await tasks.call("DELETE", f"tasks/{row_id}", "ann")).status_code == 204
        assert (await tasks.call("POST", f"tasks/{row_id}/restore", "ann")).status_code == 200
    assert await tasks.titles() == ["u0", "u1", "u2"]


@pytest.mark.promise("POST /api/{entities}/{id}/restore: with delete-own, only own deleted rows can be restored")
async def test_only_own_deleted_rows_are_restored(tasks: Tasks) -> None:
    assert (await tasks.call("POST", f"tasks/{tasks.rows['deleted']}/restore", "ann")).status_code == 200
    await tasks.call("DELETE", f"tasks/{tasks.rows['of bob']}", "bob")
    refused = told(await tasks.call("POST", f"tasks/{tasks.rows['of bob']}/restore", "ann"))
    assert refused == told(await tasks.call("POST", f"tasks/{ABSENT}/restore", "ann"))
    await tasks.add_user("editor", EDITOR)
    assert (await tasks.call("POST", f"tasks/{tasks.rows['of bob']}/restore", "editor")).status_code == 404
    assert tasks.rows["of bob"] not in (await tasks.call("GET", "tasks?includeDeleted=true", "editor")).text


@pytest.mark.promise("entities, own rows: A visible row that is not own answers 403, before its version is compared")
@pytest.mark.parametrize("name", WRITES)
async def test_a_visible_row_that_is_not_own_is_refused(tasks: Tasks, name: str) -> None:
    await tasks.add_user("editor", EDITOR)
    await tasks.make("tasks", "created", title="second of editor", assigneeId=tasks.users["editor"])
    before, versions = await stored(tasks), {} if "batch" in name else {"headers": {"If-Match": '"99"'}}
    answer = await write(tasks, name, tasks.rows["of bob"], "editor", **versions)
    assert answer.status_code == 403, answer.text
    details = [detail["field"] for detail in answer.json()["error"].get("details") or []]
    places = {"batch update": ["items[1].id"], "batch of one": ["items[0].id"], "batch delete": ["ids[1]"]}
    assert details == places.get(name, ["ids[0]"] if "by post" in name else [])
    assert (await write(tasks, name, ABSENT, "editor")).status_code == 404
    assert await stored(tasks) == before


@pytest.mark.promise("POST /api/{entities}: a limited caller creates only rows that are their own")
async def test_a_new_row_has_to_be_own(tasks: Tasks) -> None:
    ann, bob = tasks.users["ann"], tasks.users["bob"]
    assert (await tasks.call("POST", "task-notes", "ann", json={"text": "a", "authorId": ann})).status_code == 201
    for other in (bob, None):
        answer = await tasks.call("POST", "task-notes", "ann", json={"text": "b", "authorId": other})
        assert answer.status_code == 403
        assert answer.json()["error"]["details"] == [{"field": "authorId", "message": "would not be yours"}]
    items = [{"text": "c", "authorId": ann}, {"text": "d", "authorId": bob}]
    answer = await tasks.call("POST", "task-notes/batch", "ann", json={"items": items})
    assert answer.status_code == 403
    assert [detail["field"] for detail in answer.json()["error"]["details"]] == ["items[1].authorId"]
    assert [row["text"] for row in await stored(tasks, "task-notes")] == ["a"]
    # a caller may create any task: its creator owns it
    assert (await tasks.call("POST", "tasks", "ann", json={"title": "e", "assigneeId": bob})).status_code == 201
    assert (await tasks.call("POST", "task-notes", json={"text": "f", "authorId": bob})).status_code == 201


@pytest.mark.promise("entities, own rows: After a write of a limited caller the row is still own, or the answer is 403")
@pytest.mark.parametrize(
    ("name", "field", "value"),
    [("assigned", "assigneeId", "bob"), ("assigned", "assigneeId", None), ("of team", "teamId", "blue")],
)
async def test_a_change_must_not_give_the_row_away(tasks: Tasks, name: str, field: str, value: str | None) -> None:
    before, changed = await stored(tasks), {field: {**tasks.rows, **tasks.users}.get(value or "")}
    single = await tasks.call("PATCH", f"tasks/{tasks.rows[name]}", "ann", json=changed)
    assert told(single)[1]["error"]["details"] == [{"field": field, "message": "would not be yours"}]
    assert single.status_code == 403
    items = [{"id": tasks.rows["created"], "title": "x"}, {"id": tasks.rows[name], **changed}]
    batch = await tasks.call("PUT", "tasks/batch", "ann", json={"items": items})
    assert batch.status_code == 403
    assert [detail["field"] for detail in batch.json()["error"]["details"]] == [f"items[1].{field}"]
    assert await stored(tasks) == before
    # another rule still holds
    given = {"assigneeId": tasks.users["bob"]}
    assert (await tasks.call("PATCH", f"tasks/{tasks.rows['created']}", "ann", json=given)).status_code == 200


async def test_a_plain_row_must_not_be_given_away(tasks: Tasks) -> None:
    await tasks.make("task-notes", "note", "ann", text="a", authorId=tasks.users["ann"])
    path, before = f"task-notes/{tasks.rows['note']}", await stored(tasks, "task-notes")
    for other in (tasks.users["bob"], None):
        answer = await tasks.call("PATCH", path, "ann", json={"authorId": other})
        assert (answer.status_code, answer.json()["error"]["details"][0]["field"]) == (403, "authorId")
    assert await stored(tasks, "task-notes") == before
    assert (await tasks.call("PATCH", path, "ann", json={"authorId": tasks.users["ann"]})).status_code == 200


@pytest.mark.promise("entities, own rows: A reference to an invisible row answers as one to an absent row")
async def test_a_reference_to_an_invisible_row_is_answered_like_one_to_an_absent_row(tasks: Tasks) -> None:
    ann = tasks.users["ann"]
    await tasks.make("task-notes", "own", "ann", text="own", authorId=ann, taskId=tasks.rows["created"])
    own, hidden = f"task-notes/{tasks.rows['own']}", tasks.rows["of bob"]

    async def answers(task_id: str) -> list[tuple[int, Json]]:
        body = {"text": "new", "authorId": ann, "taskId": task_id}
        requests: list[tuple[str, str, Json]] = [
            ("POST", "task-notes", body),
            ("POST", "task-notes/batch", {"items": [body]}),
            ("PUT", own, {"taskId": task_id}),
            ("PUT", "task-notes/batch", {"items": [{"id": tasks.rows["own"], "taskId": task_id}]}),
        ]
        return [told(await tasks.call(method, path, "ann", json=sent)) for method, path, sent in requests]

    found = await answers(hidden)
    assert [status for status, _ in found] == [400] * 4
    assert found == await answers(ABSENT)
    line = f"text,authorId,taskId\r\nnew,{ann},"
    files = [{"file": ("notes.csv", f"{line}{task_id}")} for task_id in (hidden, ABSENT)]
    reports = [told(await tasks.call("POST", "task-notes/import", "ann", files=file)) for file in files]
    assert reports[0] == reports[1]
    assert reports[0][1]["data"]["imported"] == 0


@pytest.mark.promise("entities, own rows: A reference to an invisible row may be sent back as it was read")
async def test_an_unchanged_reference_to_an_invisible_row_is_sent_back(tasks: Tasks) -> None:
    ann, hidden = tasks.users["ann"], tasks.rows["of bob"]
    for name in ("own", "others"):
        author = tasks.users["ann" if name == "own" else "bob"]
        await tasks.make("task-notes", name, text=name, authorId=author, taskId=hidden)
    note = f"task-notes/{tasks.rows['own']}"
    sent = (await tasks.call("GET", note, "ann")).json()["data"]
    assert sent["taskId"] == hidden
    assert (await tasks.call("PUT", note, "ann", json=sent)).status_code == 200
    items = [{"id": sent["id"], "taskId": hidden, "text": "changed"}]
    assert (await tasks.call("PUT", "task-notes/batch", "ann", json={"items": items})).status_code == 200
    form = {
        "file": ("notes.csv", f"text,taskId,authorId\r\nchanged,{hidden},{ann}"),
        "options": (None, '{"mode":"upsert","key":"text"}'),
    }
    report = (await tasks.call("POST", "task-notes/import", "ann", files=form)).json()["data"]
    assert report == {"imported": 1, "skipped": 0, "errors": []}
    # the reference of a row that is not visible proves nothing
    for row_id in (tasks.rows["others"], ABSENT):
        body = {"items": [{"id": row_id, "taskId": hidden}]}
        assert (await tasks.call("PUT", f"task-notes/{row_id}", "ann", json={"taskId": hidden})).status_code == 400
        assert (await tasks.call("PUT", "task-notes/batch", "ann", json=body)).status_code == 400


@pytest.mark.promise("DELETE /api/{entities}/{id}: purge deletes only visible rows")
async def test_only_visible_rows_are_purged(tasks: Tasks) -> None:
    await tasks.add_user("purger", ["read-own:tasks", "purge:tasks", "create:tasks"])
    await tasks.make("tasks", "of purger", "purger", title="of purger")
    refused = told(await tasks.call("DELETE", f"tasks/{tasks.rows['of bob']}?permanent=true", "purger"))
    assert refused == told(await tasks.call("DELETE", f"tasks/{ABSENT}?permanent=true", "purger"))
    assert refused[0] == 404
    assert (await tasks.call("DELETE", f"tasks/{tasks.rows['of purger']}?permanent=true", "purger")).status_code == 204
    await tasks.add_user("sweeper", ["read:tasks", "delete-own:tasks", "purge:tasks"])
    assert (await tasks.call("DELETE", f"tasks/{tasks.rows['of bob']}?permanent=true", "sweeper")).status_code == 204


@pytest.mark.promise("entities, own rows: Rules, cascades and unique values count the rows of all users")
async def test_rules_cascades_and_unique_values_see_all_rows(tasks: Tasks) -> None:
    answers = [await tasks.call("POST", "bookings", whom, json={"slot": 1}) for whom in ("ann", "bob", "ann")]
    assert [answer.status_code for answer in answers] == [201, 201, 422]
    assert answers[2].json()["error"]["details"] == [{"field": "slot", "message": "is full"}]
    assert (await tasks.call("POST", "tasks", "ann", json={"title": "created by bob"})).status_code == 409
    await tasks.make("task-notes", "note", text="bob's", authorId=tasks.users["bob"], taskId=tasks.rows["created"])
    assert (await tasks.call("DELETE", f"tasks/{tasks.rows['created']}", "ann")).status_code == 204
    assert (await tasks.call("GET", f"task-notes/{tasks.rows['note']}", "bob")).status_code == 404
    await tasks.make("bookings", "booking", slot=2, taskId=tasks.rows["assigned"])
    refused = await tasks.call("DELETE", f"tasks/{tasks.rows['assigned']}", "ann")
    # the number of bookings is that of all users, so it is not in the answer
    assert (refused.status_code, refused.json()["error"]["message"]) == (409, "Something still refers to it.")


@pytest.mark.promise("DELETE /api/{entities}/{id}: the rules of rows that refer to an invisible row are not checked")
async def test_a_delete_of_an_invisible_row_reports_no_rule_of_rows_that_refer_to_it(tasks: Tasks) -> None:
    for name in ("of bob", "created"):
        await tasks.make("task-reports", name + " report", isClosed=True, taskId=tasks.rows[name])
    for name in ("delete", "batch delete", "batch delete by post"):
        absent = told(await write(tasks, name, ABSENT, "ann"))
        assert absent[0] == 404
        assert told(await write(tasks, name, tasks.rows["of bob"], "ann")) == absent
    assert (await write(tasks, "delete", tasks.rows["created"], "ann")).status_code == 422


@pytest.mark.promise("PUT /api/{entities}/{id}: the links of an invisible row are not revealed")
async def test_a_write_does_not_reveal_the_links_of_an_invisible_row(tasks: Tasks) -> None:
    await tasks.add_user("linker", ["read-own:tasks", "read-own:boards", "update-own:boards"])
    linked = tasks.rows["of bob"]
    board = await tasks.make("boards", "board", taskIds=[linked])
    answers = []
    for row_id in (board, ABSENT):
        single = await tasks.call("PUT", f"boards/{row_id}", "linker", json={"taskIds": [linked]})
        items = [{"id": row_id, "taskIds": [linked]}]
        batch = await tasks.call("PUT", "boards/batch", "linker", json={"items": items})
        answers.append([told(single), told(batch)])
    assert answers[0] == answers[1]
    assert [status for status, _ in answers[0]] == [400, 400]


IMPORTS: list[tuple[str, str, Json]] = [
    ("create", "created by bob", {"imported": 0, "skipped": 1, "errors": [], "skippedRows": [2]}),
    ("upsert", "created by bob", {"imported": 0, "skipped": 1, "errors": [], "skippedRows": [2]}),
    ("upsert", "created by ann", {"imported": 1, "skipped": 0, "errors": []}),
]


@pytest.mark.promise("POST /api/{entities}/import: an upsert changes only visible rows, and skips taken values")
@pytest.mark.parametrize(("mode", "title", "report"), IMPORTS)
async def test_an_import_changes_no_rows_of_other_users(tasks: Tasks, mode: str, title: str, report: Json) -> None:
    before = {row["title"]: row["version"] for row in await stored(tasks)}
    options = f'{{"mode":"{mode}"' + (',"key":"title"}' if mode == "upsert" else "}")
    form = {"file": ("tasks.csv", f"title,assigneeId\r\n{title},{tasks.users['ann']}"), "options": (None, options)}
    assert (await tasks.call("POST", "tasks/import", "ann", files=form)).json()["data"] == report
    after = {row["title"]: row["version"] for row in await stored(tasks)}
    assert after == before | {title: before[title] + report["imported"]}


async def test_an_import_names_rows_that_are_not_or_would_not_be_own(tasks: Tasks) -> None:
    ann, bob = tasks.users["ann"], tasks.users["bob"]
    await tasks.make("task-notes", "own", text="own", authorId=ann)
    await tasks.make("task-notes", "bob", text="of bob", authorId=bob)
    await tasks.add_user("editor", ["create:task-notes", *EDITOR])
    editor = tasks.users["editor"]
    await tasks.make("task-notes", "edited", text="edited", authorId=editor)
    lines = [f"new,{editor}", f"foreign,{bob}", f"edited,{bob}", f"of bob,{editor}", f"own,{ann}"]
    form = {
        "file": ("notes.csv", "text,authorId\r\n" + "\r\n".join(lines)),
        "options": (None, '{"mode":"upsert","key":"text"}'),
    }
    report = (await tasks.call("POST", "task-notes/import", "editor", files=form)).json()["data"]
    assert (report["imported"], report["skipped"]) == (1, 0)
    lost, refused = "authorId: would not be yours", "You may read this row but not change it: it is not yours."
    assert [(error["row"], error["message"]) for error in report["errors"]] == [
        (3, lost),
        (4, lost),
        (5, refused),
        (6, refused),
    ]
    created = {"file": ("notes.csv", f"text,authorId\r\na,{editor}\r\nb,{bob}")}
    report = (await tasks.call("POST", "task-notes/import", "editor", files=created)).json()["data"]
    assert [(error["row"], error["message"]) for error in report["errors"]] == [(3, lost)]


@pytest.mark.promise("POST /api/{entities}/import: a row that is not own is reported before its version")
async def test_an_import_reports_that_a_row_is_not_own_before_its_version(tasks: Tasks) -> None:
    await tasks.add_user("editor", ["create:task-notes", *EDITOR])
    note = await tasks.make("task-notes", "bob", text="of bob", authorId=tasks.users["bob"])
    assert (await tasks.call("PATCH", f"task-notes/{note}", json={"text": "by bob"})).status_code == 200
    form = {
        "file": ("notes.csv", f"text,authorId,version\r\nby bob,{tasks.users['editor']},1"),
        "options": (None, '{"mode":"upsert","key":"text"}'),
    }
    report = (await tasks.call("POST", "task-notes/import", "editor", files=form)).json()["data"]
    assert [error["message"] for error in report["errors"]] == [NotYours.sentence]


async def test_a_body_cannot_claim_a_row_of_another_user(tasks: Tasks) -> None:
    claim = {"createdBy": tasks.users["ann"], "assigneeId": tasks.users["ann"]}
    before = await stored(tasks)
    for name in OTHERS:
        for method in ("PUT", "PATCH"):
            answer = await tasks.call(method, f"tasks/{tasks.rows[name]}", "ann", json=claim)
            assert answer.status_code == 404
    assert await stored(tasks) == before


@pytest.mark.promise("entities, own rows: A body cannot claim a row by createdBy")
@pytest.mark.parametrize("way", ["single", "batch", "upsert", "operations", "import", "import of upserts"])
async def test_the_creator_of_a_row_is_the_caller_whatever_the_body_says(tasks: Tasks, way: str) -> None:
    ann, bob = tasks.users["ann"], tasks.users["bob"]
    item = {"title": "x", "createdBy": bob}
    file, upserting = ("tasks.csv", f"title,createdBy\r\nx,{bob}"), '{"mode":"upsert","key":"title"}'
    ways: dict[str, tuple[str, Json]] = {
        "single": ("tasks", {"json": item}),
        "batch": ("tasks/batch", {"json": {"items": [item]}}),
        "upsert": ("tasks/batch/upsert", {"json": {"key": "title", "items": [item]}}),
        "operations": ("operations", {"json": {"operations": [{"op": "create", "entity": "tasks", "values": item}]}}),
        "import": ("tasks/import", {"files": {"file": file}}),
        "import of upserts": ("tasks/import", {"files": {"file": file, "options": (None, upserting)}}),
    }
    path, sent = ways[way]
    answer = await tasks.call("POST", path, "ann", **sent)
    assert answer.status_code in (200, 201), answer.text
    assert [row["createdBy"] for row in await stored(tasks) if row["title"] == "x"] == [ann]


async def test_writes_need_one_of_both_permissions(tasks: Tasks) -> None:
    await tasks.add_user("reader", ["read:tasks"])
    for name in WRITES:
        assert (await write(tasks, name, tasks.rows["created"], "reader")).status_code == 403
    await tasks.add_user("writer", ["update-own:tasks"])
    # a caller who reads nothing learns of no row
    assert (await write(tasks, "put", tasks.rows["created"], "writer")).status_code == 404


async def test_own_rows_may_swap_unique_values(tasks: Tasks) -> None:
    titles = {"created": "assigned to ann", "assigned": "created by ann"}
    items = [{"id": tasks.rows[name], "title": title} for name, title in titles.items()]
    assert (await tasks.call("PUT", "tasks/batch", "ann", json={"items": items})).status_code == 200
    for name in ("a", "b"):
        await tasks.make("task-notes", name, "ann", text=name, authorId=tasks.users["ann"])
    items = [{"id": tasks.rows["a"], "text": "b"}, {"id": tasks.rows["b"], "text": "a"}]
    assert (await tasks.call("PUT", "task-notes/batch", "ann", json={"items": items})).status_code == 200
