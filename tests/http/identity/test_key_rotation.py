"""Rotation of signing keys, as clients of the published keys see it."""

from tests.http.app import TestApp


async def test_the_process_that_rotates_publishes_the_next_keys_at_once(app: TestApp) -> None:
    async def published() -> set[str]:
        answer = await app.call("GET", "/.well-known/jwks.json")
        return {key["kid"] for key in answer.json()["keys"]}

    before = await published()
    await app.services.signing_keys.rotate()
    assert before < await published()
    assert (await app.call("GET", "/api/auth/me", as_whom="acme")).status_code == 200
