"""Files of own rows, by creator, assignee, team and share. Other members get the answers of absent files."""

from collections.abc import AsyncIterator
from typing import Annotated
from uuid import UUID

import httpx
import pytest_asyncio
from msgspec import Struct

from domain.entities.attachments.marks import attachment, attachments
from domain.entities.markers import entity, many, mine, ref, through
from tests.http.app import ADMIN, Json, TestApp, open_test_app
from tests.http.entities.attachments.desk import uploaded
from tests.http.entities.isolation.isolation import ABSENT, told

ROOT = "root in acme"
MEMBERS = ("creator", "assignee", "teammate", "guest", "stranger")
RIGHTS = ["read:teams", "read-own:jobs", "create:jobs", "update-own:jobs", "delete-own:jobs"]


@entity("teams", has_many={"members": many("team-members", by="team_id")})
class Team(Struct, rename="camel", kw_only=True):
    name: str


@entity("team-members")
class TeamMember(Struct, rename="camel", kw_only=True):
    team_id: Annotated[UUID, ref("teams", on_delete="cascade")]
    user_id: UUID


@entity("jobs", own=[mine("created_by"), mine("assignee_id"), through("team", "members", "user_id")], shared=True)
class Job(Struct, rename="camel", kw_only=True):
    assignee_id: UUID | None = None
    team_id: Annotated[UUID | None, ref("teams", on_delete="clear")] = None
    photo_id: Annotated[UUID | None, attachment(["image/png"], 100_000)] = None
    plan_ids: Annotated[list[UUID], attachments(["text/plain"], 100_000)] = []


class Jobs:
    def __init__(self, app: TestApp) -> None:
        self.app = app
        self.users: dict[str, str] = {}
        self.membership = self.row = self.photo = self.plan = ""

    async def post(self, plural: str, whom: str = ROOT, /, **values: object) -> str:
        answer = await self.app.call("POST", f"/api/{plural}", as_whom=whom, json=values)
        assert answer.status_code == 201, answer.text
        row: str = answer.json()["data"]["id"]
        return row

    def paths(self, row: str, photo_or_absent: str = "") -> list[tuple[str, str]]:
        plan = photo_or_absent or self.plan
        contents = (f"/api/jobs/{row}/photo", f"/api/jobs/{row}/plans/{plan}")
        return [("GET", path) for path in contents] + [("POST", f"{path}/link") for path in contents]

    async def ask(self, whom: str, row: str, file_id: str = "") -> list[httpx.Response]:
        sent: dict[str, Json] = {"GET": {}, "POST": {"json": {}}}
        asked = self.paths(row, file_id)
        return [await self.app.call(method, path, as_whom=whom, **sent[method]) for method, path in asked]

    async def readers(self) -> set[str]:
        """Members who may read all files of the row; every other one gets the same answers as for absent files."""
        found = set()
        for whom in MEMBERS:
            answers = await self.ask(whom, self.row)
            statuses = {answer.status_code for answer in answers}
            assert len(statuses) == 1, (whom, statuses)
            if statuses == {200}:
                found.add(whom)
                continue
            unknown = await self.ask(whom, ABSENT, ABSENT)
            assert [told(answer) for answer in answers] == [told(answer) for answer in unknown], whom
            assert statuses == {404}
        return found


@pytest_asyncio.fixture
async def jobs() -> AsyncIterator[Jobs]:
    app = await open_test_app(entities=(Team, TeamMember, Job), counts_limits=False)
    await app.login("root", ADMIN)
    await app.make_tenant("acme")
    await app.make_role("acme", "Worker", RIGHTS)
    made = Jobs(app)
    for name in MEMBERS:
        made.users[name] = await app.make_user("acme", f"{name}@acme.example", ["Worker"])
        await app.login(name, f"{name}@acme.example")
    team = await made.post("teams", name="Red")
    made.membership = await made.post("team-members", teamId=team, userId=made.users["teammate"])
    made.photo = await uploaded(app, purpose="jobs.photo", whom="creator")
    made.plan = await uploaded(app, b"a plan", "jobs.plans", whom="creator")
    files = {"photoId": made.photo, "planIds": [made.plan]}
    made.row = await made.post("jobs", "creator", **files, assigneeId=made.users["creator"], teamId=team)
    yield made
    await app.client.aclose()


async def change(jobs: Jobs, method: str, path: str, status: int, **body: object) -> None:
    sent = {"json": body} if body else {}
    answer = await jobs.app.call(method, f"/api/{path}", as_whom=ROOT, **sent)
    assert answer.status_code == status, answer.text


async def test_files_are_read_by_the_members_who_may_read_the_row(jobs: Jobs) -> None:
    assert await jobs.readers() == {"creator", "teammate"}
    await change(jobs, "PATCH", f"jobs/{jobs.row}", 200, assigneeId=jobs.users["assignee"])
    assert await jobs.readers() == {"creator", "assignee", "teammate"}
    await change(jobs, "PUT", f"jobs/{jobs.row}/shares/{jobs.users['guest']}", 200, level="read")
    assert await jobs.readers() == {"creator", "assignee", "teammate", "guest"}
    await change(jobs, "DELETE", f"jobs/{jobs.row}/shares/{jobs.users['guest']}", 204)
    await change(jobs, "DELETE", f"team-members/{jobs.membership}", 204)
    await change(jobs, "PATCH", f"jobs/{jobs.row}", 200, assigneeId=jobs.users["stranger"])
    assert await jobs.readers() == {"creator", "stranger"}
    await change(jobs, "DELETE", f"jobs/{jobs.row}", 204)
    assert await jobs.readers() == set()


async def test_deleted_rows_show_no_files_with_include_deleted(jobs: Jobs) -> None:
    await change(jobs, "DELETE", f"jobs/{jobs.row}", 204)
    for method, path in jobs.paths(jobs.row):
        answer = await jobs.app.call(method, f"{path}?includeDeleted=true", as_whom="creator")
        assert answer.status_code in {400, 404}, path


async def test_a_member_cannot_attach_files_of_another_one_or_to_the_rows_of_another_one(jobs: Jobs) -> None:
    own = await uploaded(jobs.app, purpose="jobs.photo", whom="stranger")
    of_creator = await uploaded(jobs.app, purpose="jobs.photo", whom="creator")
    path = f"/api/jobs/{jobs.row}"
    to_other = await jobs.app.call("PATCH", path, as_whom="stranger", json={"photoId": own})
    assert to_other.status_code == 404
    told_of = set()
    for file_id in (of_creator, jobs.photo, ABSENT, await uploaded(jobs.app, b"a", "jobs.plans", whom="stranger")):
        answer = await jobs.app.call("POST", "/api/jobs", as_whom="stranger", json={"photoId": file_id})
        assert answer.status_code == 400, answer.text
        told_of.add(str(told(answer)))
    assert len(told_of) == 1
    assert (await jobs.app.call("PATCH", path, as_whom="creator", json={"photoId": of_creator})).status_code == 200


async def test_a_bypass_of_the_tenant_is_audited(jobs: Jobs) -> None:
    tenants = (await jobs.app.call("GET", "/api/tenants", as_whom="root")).json()["data"]["items"]
    tenant = next(each["id"] for each in tenants if each["identifier"] == "acme")
    headers = {"x-tenant-scope": tenant}
    for method, path in jobs.paths(jobs.row):
        sent: Json = {"json": {}} if method == "POST" else {}
        answer = await jobs.app.call(method, path, as_whom="root", headers=headers, **sent)
        assert answer.status_code == 200, answer.text
    query = "/api/audit-events?action.startsWith=tenant-scope.jobs"
    lines = (await jobs.app.call("GET", query, as_whom="root", headers={"x-tenant-scope": "all"})).json()["data"]
    named = {event["action"] for event in lines["items"]}
    assert named == {f"tenant-scope.jobs.{verb}-{name}" for verb in ("read", "link") for name in ("photo", "plans")}
