"""Metrics of one-time codes, as the whole service serves them."""

from domain.identity.redirects import challenge_of
from tenantry.testing import ADMIN_EMAIL, ADMIN_PASSWORD, MemoryApp, open_app
from tests.http.identity.hosted_login.handing_over import REDIRECT, VERIFIER


async def counted(app: MemoryApp) -> dict[str, float]:
    lines = (await app.client.get("/metrics")).text.splitlines()
    found = [line for line in lines if line.startswith("tenantry_login_codes_total{")]
    return {line.split('"')[1]: float(line.split()[-1]) for line in found}


async def code_of(app: MemoryApp) -> str:
    body = {"email": ADMIN_EMAIL, "password": ADMIN_PASSWORD}
    login = await app.client.post("/api/auth/login", json=body, headers={"X-App-Id": "shop"})
    headers = {"Authorization": f"Bearer {login.json()['data']['token']}"}
    asked = {"redirect": REDIRECT, "codeChallenge": challenge_of(VERIFIER)}
    made = await app.client.post("/api/auth/codes", json=asked, headers=headers)
    assert made.status_code == 200, made.text
    code: str = made.json()["data"]["code"]
    return code


async def test_the_metrics_count_codes_that_were_made_used_and_refused() -> None:
    async with open_app() as app:
        shop = {"appId": "shop", "name": "The shop", "redirectUrls": [REDIRECT]}
        made = await app.client.post("/api/applications", json=shop, headers=await app.login())
        assert made.status_code == 201, made.text

        async def exchange(code: str, verifier: str = VERIFIER) -> int:
            body = {"code": code, "codeVerifier": verifier}
            return (await app.client.post("/api/auth/code", json=body)).status_code

        assert await counted(app) == {}
        first, second = await code_of(app), await code_of(app)
        assert await exchange(first, "v" * 50) == 400
        assert await exchange("no code") == 400
        assert await exchange(second) == 200
        assert await exchange(second) == 400
        assert await counted(app) == {"issued": 2, "redeemed": 1, "refused": 3}
