"""Members as an entity, filters that name the caller, and the ways to leave a tenant that rows refer to."""

from collections.abc import AsyncIterator
from typing import Annotated
from uuid import UUID, uuid4

import httpx
import pytest
import pytest_asyncio
from msgspec import Struct

from domain.entities.markers import entity, guarded, member
from tests.http.app import ADMIN, Json, TestApp
from tests.http.two_tenants import open_seeded


@entity("errands", history=True)
class Errand(Struct, rename="camel", kw_only=True):
    title: str
    assignee_id: Annotated[UUID | None, member(on_leave="clear")] = None


@entity("letters")
class Letter(Struct, rename="camel", kw_only=True):
    title: str
    writer_id: Annotated[UUID | None, member(), guarded(read="read:writers")] = None
    reader_id: Annotated[UUID | None, member()] = None


@entity("memos")
class Memo(Struct, rename="camel", kw_only=True):
    title: str
    author_id: Annotated[UUID, member(on_leave="keep")]


ENTITIES = (Errand, Letter, Memo)
WORKER = [f"{action}:{plural}" for action in ("create", "read", "update") for plural in ("errands", "memos", "letters")]
FIELDS = {"errands": "assigneeId", "letters": "readerId", "memos": "authorId"}


async def seed(app: TestApp) -> None:
    await app.login("root", ADMIN)
    for identifier in ("acme", "other"):
        await app.make_tenant(identifier)
        await app.make_user(identifier, f"admin@{identifier}.example", ["Admin"])
        await app.login(identifier, f"admin@{identifier}.example")
        await app.make_role(identifier, "Worker", WORKER)
        await app.make_role(identifier, "Clerk", ["delete:users", "update:users", "read:users"])
    await app.make_role("acme", "Seer", ["read:members"])
    for name, roles in (("ann", ["Worker", "Seer"]), ("bob", ["Worker"]), ("clerk", ["Clerk"])):
        await app.make_user("acme", f"{name}@acme.example", roles)
        await app.login(name, f"{name}@acme.example")
    tenants = await tenants_of(app)
    body = {"userId": await id_of(app, "ann"), "roles": ["Worker"]}
    added = await app.call("POST", f"/api/tenants/{tenants['other']}/users", as_whom="root", json=body)
    assert added.status_code == 201, added.text
    await app.login("ann", "ann@acme.example", tenants["acme"])
    await app.login("ann there", "ann@acme.example", tenants["other"])


async def tenants_of(app: TestApp) -> dict[str, str]:
    items = (await app.call("GET", "/api/tenants", as_whom="root")).json()["data"]["items"]
    return {each["identifier"]: each["id"] for each in items}


@pytest_asyncio.fixture
async def office() -> AsyncIterator[TestApp]:
    """Ann may read members and is one of both tenants; Bob may not read members; Clerk may not read rows."""
    app = await open_seeded(seed, ENTITIES)
    yield app
    await app.client.aclose()


async def id_of(app: TestApp, whom: str) -> str:
    user_id: str = (await app.call("GET", "/api/auth/me", as_whom=whom)).json()["data"]["id"]
    return user_id


async def add(app: TestApp, whom: str, plural: str, named: str | None, **values: object) -> str:
    body = {"title": "t", FIELDS[plural]: named, **values}
    answer = await app.call("POST", f"/api/{plural}", as_whom=whom, json=body)
    assert answer.status_code == 201, answer.text
    row_id: str = answer.json()["data"]["id"]
    return row_id


async def listed(app: TestApp, whom: str, path: str) -> list[Json]:
    answer = await app.call("GET", f"/api/{path}", as_whom=whom)
    assert answer.status_code == 200, answer.text
    items: list[Json] = answer.json()["data"]["items"]
    return items


async def read(app: TestApp, whom: str, plural: str, row_id: str) -> Json:
    data: Json = (await app.call("GET", f"/api/{plural}/{row_id}", as_whom=whom)).json()["data"]
    return data


def refusal(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["errorMessage"]


@pytest.mark.promise("GET /api/{entities}: members of the tenant, to holders of read:members or read:users")
async def test_members_are_read_with_either_permission(office: TestApp) -> None:
    ann, stranger = await id_of(office, "ann"), await id_of(office, "other")
    for whom in ("ann", "clerk", "acme"):
        rows = await listed(office, whom, "members?search=some")
        assert ann in {row["id"] for row in rows}
        assert {name for row in rows for name in row} == {"id", "fullName", "profilePictureUrl", "joinedAt"}
        assert (await office.call("GET", f"/api/members/{ann}", as_whom=whom)).status_code == 200
        assert (await office.call("GET", f"/api/members/{stranger}", as_whom=whom)).status_code == 404
        assert [row["id"] for row in await listed(office, whom, "members?id=me")] == [await id_of(office, whom)]
    for path in ("members", f"members/{ann}", "members/export?format=csv"):
        assert (await office.call("GET", f"/api/{path}", as_whom="bob")).status_code == 403
    for method in ("POST", "PUT", "DELETE"):
        answer = await office.call(method, f"/api/members/{ann}", as_whom="acme", json={})
        assert answer.status_code in (404, 405)


async def test_members_are_exported(office: TestApp) -> None:
    answer = await office.call("GET", "/api/members/export?format=csv&fields=fullName", as_whom="ann")
    assert (answer.status_code, answer.text.splitlines()[0]) == (200, "id,fullName")


async def test_a_relation_to_a_member_needs_the_permission(office: TestApp) -> None:
    ann = await id_of(office, "ann")
    row = await add(office, "ann", "errands", ann)
    found = await listed(office, "ann", "errands?include=assignee&assignee.fullName.contains=SOME")
    assert [(each["id"], each["assignee"]["id"]) for each in found] == [(row, ann)]
    for asked in ("include=assignee", "assignee.fullName=x", "sort=assignee.fullName"):
        assert (await office.call("GET", f"/api/errands?{asked}", as_whom="bob")).status_code == 403
    assert (await read(office, "bob", "errands", row))["assigneeId"] == ann


async def test_me_is_the_caller_in_filters_on_users(office: TestApp) -> None:
    ann, bob = await id_of(office, "ann"), await id_of(office, "bob")
    by_ann, by_bob = await add(office, "ann", "errands", bob), await add(office, "bob", "errands", ann)
    none = await add(office, "bob", "errands", None)
    asked = {
        "assigneeId=me": ({by_bob}, {by_ann}),
        "ASSIGNEEID=ME": ({by_bob}, {by_ann}),
        "assigneeId.ne=me": ({by_ann}, {by_bob}),
        f"assigneeId=me,{bob}": ({by_ann, by_bob}, {by_ann}),
        "createdBy=me": ({by_ann}, {by_bob, none}),
        "createdBy.in=me": ({by_ann}, {by_bob, none}),
        "updatedBy.eq=me": ({by_ann}, {by_bob, none}),
        "deletedBy=me": (set(), set()),
    }
    # twice: callers share the parsed queries
    for _ in range(2):
        for text, (of_ann, of_bob) in asked.items():
            for whom, expected in (("ann", of_ann), ("bob", of_bob)):
                assert {row["id"] for row in await listed(office, whom, f"errands?{text}")} == expected, text
    exported = await office.call("GET", "/api/errands/export?format=csv&createdBy=me&fields=id", as_whom="ann")
    assert exported.text.split() == ["id", by_ann]
    through = await listed(office, "ann", "errands?assignee.id=me")
    assert [row["id"] for row in through] == [by_bob]
    for text in ("id=me", "title.gt=me&id=me"):
        assert (await office.call("GET", f"/api/errands?{text}", as_whom="ann")).status_code == 400


async def test_only_members_can_be_named(office: TestApp) -> None:
    root = await id_of(office, "root")
    for named in (await id_of(office, "other"), root, str(uuid4())):
        for plural, field in FIELDS.items():
            # a super-admin without a membership is not a member either
            for whom in ("ann", "root in acme"):
                answer = await office.call(
                    "POST",
                    f"/api/{plural}",
                    as_whom=whom if whom != "ann" or plural != "letters" else "acme",
                    json={"title": "t", field: named},
                )
                wrong = [{"field": field, "message": "refers to nothing that exists"}]
                assert (answer.status_code, answer.json()["error"]["details"]) == (400, wrong)


@pytest.mark.promise("GET /api/entities: what the caller may read and do, and nothing beyond")
async def test_a_member_field_is_described(office: TestApp) -> None:
    for whom, display in (("ann", "fullName"), ("bob", None)):
        data = (await office.call("GET", "/api/entities", as_whom=whom)).json()["data"]
        entities = {each["plural"]: each for each in data["entities"]}
        field = next(each for each in entities["errands"]["fields"] if each["name"] == "assigneeId")
        assert (field["kind"], field["target"], field["relation"]) == ("member", "members", "assignee")
        assert (field["targetDisplay"], field["onLeave"], "onDelete" in field) == (display, "clear", False)
        assert ("members" in entities) is (display is not None)


LEAVING = {
    "removal": ("acme", "DELETE", "/api/tenants/{acme}/users/{ann}"),
    "removal by a super-admin": ("root", "DELETE", "/api/tenants/{acme}/users/{ann}"),
    "leaving": ("ann", "POST", "/api/tenants/current/leave"),
    "deletion by an administrator": ("acme", "DELETE", "/api/users/{ann}"),
    "deletion of the account": ("ann", "DELETE", "/api/auth/me"),
    "deletion by a super-admin": ("root", "DELETE", "/api/users/{ann}"),
}
ENDS_ACCOUNT = ("deletion of the account", "deletion by a super-admin")


async def leave(app: TestApp, how: str, ann: str = "", whom: str | None = None) -> httpx.Response:
    caller, method, path = LEAVING[how]
    return await app.call(method, path.format(ann=ann, **await tenants_of(app)), as_whom=whom or caller)


@pytest.mark.parametrize("how", LEAVING)
async def test_leaving_clears_or_keeps_or_is_refused(office: TestApp, how: str) -> None:
    ann = await id_of(office, "ann")
    errand, memo = await add(office, "ann", "errands", ann), await add(office, "ann", "memos", ann)
    elsewhere = await add(office, "ann there", "errands", ann)
    letters = [await add(office, "acme", "letters", ann, writerId=ann) for _ in range(2)]
    assert (await office.call("DELETE", f"/api/letters/{letters[0]}", as_whom="acme")).status_code == 204
    assert refusal(await leave(office, how, ann)) == (409, "Rows still refer to it: letters (2).")
    assert (await read(office, "acme", "errands", errand))["version"] == 1
    for letter in letters:
        purged = await office.call("DELETE", f"/api/letters/{letter}?permanent=true", as_whom="acme")
        assert purged.status_code == 204
    assert (await leave(office, how, ann)).status_code == 200
    cleared = await read(office, "acme", "errands", errand)
    assert (cleared["assigneeId"], cleared["version"]) == (None, 2)
    by = cleared["updatedBy"]
    assert by == (ann if LEAVING[how][0] == "ann" else await id_of(office, LEAVING[how][0]))
    lines = (await office.call("GET", f"/api/errands/{errand}/history", as_whom="acme")).json()["data"]["items"]
    assert lines[0]["changes"] == [{"field": "assigneeId", "from": ann, "to": None}]
    assert (await read(office, "acme", "memos", memo))["authorId"] == ann
    there = (await read(office, "other", "errands", elsewhere))["assigneeId"]
    assert there == (None if how in ENDS_ACCOUNT else ann)


@pytest.mark.parametrize("how", ["removal", "deletion by an administrator"])
async def test_a_refusal_names_only_what_the_caller_may_read(office: TestApp, how: str) -> None:
    dan = await office.make_user("acme", "dan@acme.example", [])
    letter = await add(office, "acme", "letters", None, writerId=dan)
    assert refusal(await leave(office, how, dan, "clerk")) == (409, "Something still refers to it.")
    # now the clerk may read letters, but not who wrote them
    await office.make_role("acme", "Reader", ["read:letters"])
    clerk = await id_of(office, "clerk")
    body: Json = {"roleNames": ["Clerk", "Reader"]}
    assert (await office.call("POST", f"/api/users/{clerk}/roles", as_whom="acme", json=body)).status_code == 200
    await office.login("clerk", "clerk@acme.example")
    assert refusal(await leave(office, how, dan, "clerk")) == (409, "Something still refers to it.")
    body = {"readerId": dan}
    assert (await office.call("PATCH", f"/api/letters/{letter}", as_whom="acme", json=body)).status_code == 200
    assert refusal(await leave(office, how, dan, "clerk")) == (409, "Rows still refer to it: letters (1).")


async def test_an_account_is_held_by_rows_of_another_tenant_without_names(office: TestApp) -> None:
    await add(office, "other", "letters", await id_of(office, "ann"))
    assert refusal(await leave(office, "deletion of the account")) == (409, "Something still refers to it.")
    assert (await leave(office, "leaving")).status_code == 200


async def test_a_tenant_is_deleted_whatever_refers_to_its_members(office: TestApp) -> None:
    await add(office, "acme", "letters", await id_of(office, "ann"))
    acme = (await tenants_of(office))["acme"]
    assert (await office.call("DELETE", f"/api/tenants/{acme}", as_whom="root")).status_code == 200
