"""Metrics of invitations, as the whole service serves them."""

from tenantry.testing import MemoryApp, open_app
from tests.builders import link_in, said_by

NEW = {"fullName": "Ada Byron", "password": "a first password"}


async def counted(app: MemoryApp) -> dict[str, float]:
    lines = (await app.client.get("/metrics")).text.splitlines()
    found = [line for line in lines if line.startswith("tenantry_invitations_total{")]
    return {line.split('"')[1]: float(line.split()[-1]) for line in found}


async def test_the_metrics_count_what_came_of_invitations() -> None:
    async with open_app() as app:
        acme = await app.create_tenant("acme")

        async def token(path: str, body: object = None) -> tuple[str, str]:
            made = await app.client.post(path, json=body, headers=acme)
            assert made.is_success, made.text
            return made.json()["data"]["id"], said_by(link_in((await app.mails())[-1]))["token"]

        async def answer(path: str, body: object) -> int:
            return (await app.client.post(f"/api/auth/invitations/{path}", json=body)).status_code

        assert await counted(app) == {}
        first, link = await token("/api/invitations", {"email": "ada@example.com"})
        _, link = await token(f"/api/invitations/{first}/resend")
        assert await answer("accept", {"token": link, **NEW}) == 200
        assert await answer("accept", {"token": link, **NEW}) == 400
        _, link = await token("/api/invitations", {"email": "bob@example.com"})
        assert await answer("decline", {"token": link}) == 200
        items = {"items": [{"email": f"u{number}@example.com"} for number in range(3)]}
        batch = await app.client.post("/api/invitations/batch", json=items, headers=acme)
        revoked = batch.json()["data"]["items"][0]["id"]
        assert (await app.client.delete(f"/api/invitations/{revoked}", headers=acme)).status_code == 200
        assert await counted(app) == {"sent": 5, "resent": 1, "accepted": 1, "declined": 1, "revoked": 1}


async def test_an_invitation_that_an_account_accepts_is_counted_once() -> None:
    async with open_app() as app:
        acme, other = await app.create_tenant("acme"), await app.create_tenant("other")
        ada = await app.create_user(other, "ada@example.com")
        made = await app.client.post("/api/invitations", json={"email": "ada@example.com"}, headers=acme)
        assert made.is_success, made.text
        body = {"token": said_by(link_in((await app.mails())[-1]))["token"]}
        assert (await app.client.post("/api/auth/invitations/accept", json=body, headers=ada)).status_code == 200
        assert (await counted(app))["accepted"] == 1
        ada = await app.login("ada@example.com")
        assert (await app.client.post("/api/auth/invitations/accept", json=body, headers=ada)).status_code == 200
        assert (await counted(app))["accepted"] == 1
