"""Bodies that may be left out, because each of their fields may be."""

import pytest

from tests.http.app import TestApp
from tests.http.identity.factors import Person

NOBODY = "00000000-0000-7000-8000-000000000001"

MAY_BE_LEFT_OUT = {
    "/api/auth/passkeys/begin": 200,
    "/api/auth/reauthenticate/passkey": 400,  # without a passkey
    "/api/auth/factors/passkeys/begin": 200,
    "/api/auth/factors/totp/begin": 200,
    "/api/auth/factors/recovery-codes": 409,  # without a factor
    "/api/join-requests/{userId}/approve": 404,
    "/api/service-accounts/{accountId}/keys/{keyId}/rotate": 404,
}
"""Paths of POST with the status for a person without factors, or for an administrator and ids of nobody."""


async def test_the_document_tells_which_bodies_may_be_left_out(app: TestApp) -> None:
    document = (await app.call("GET", "/docs/v1/docs.json")).json()
    found = {
        path
        for path, operations in document["paths"].items()
        if not operations.get("post", {}).get("requestBody", {"required": True}).get("required", False)
    }
    assert found == set(MAY_BE_LEFT_OUT)


@pytest.mark.parametrize("path", MAY_BE_LEFT_OUT)
async def test_a_body_that_is_left_out_is_one_without_fields(app: TestApp, path: str) -> None:
    person = Person(app)
    await person.login()
    place = "/".join(NOBODY if part.startswith("{") else part for part in path.split("/"))
    name = "root" if "{" in path else person.name
    left_out = await app.call("POST", place, as_whom=name)
    assert left_out.status_code == MAY_BE_LEFT_OUT[path], left_out.text
    sent = await app.call("POST", place, as_whom=name, json={})
    assert sent.status_code == left_out.status_code, sent.text
    refused = await app.call("POST", place, as_whom=name, json={"more": 1})
    assert [wrong["field"] for wrong in refused.json()["errors"]] == ["more"], refused.text
