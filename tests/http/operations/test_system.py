"""`/api/system`: what super-admins see of the service, and that no secret is in it."""

from typing import Any
from uuid import UUID

import pytest

from application.ports.database import Mail
from domain.scope import EveryTenant
from entrypoints.settings.settings import VARIABLES
from entrypoints.testing.app import SECRET_KEY
from tests.http.app import ADMIN, TestApp, open_test_app

Json = dict[str, Any]

SECRETS = {
    "TENANTRY_ADMIN_PASSWORD": "sentinel-password",
    "TENANTRY_DATABASE_URL": "postgresql://ada:sentinel-database@db.example/tenantry",
    "TENANTRY_REDIS_URL": "redis://:sentinel-redis@redis.example",
    "TENANTRY_METRICS_TOKEN": "sentinel-metrics",
    "TENANTRY_SMTP_URL": "smtp://ada:sentinel-mail@mail.example",
    "TENANTRY_SOCIAL_GITHUB_CLIENT_ID": "our-client",
    "TENANTRY_SOCIAL_GITHUB_CLIENT_SECRET": "sentinel-github",
}


async def report(app: TestApp, whom: str = "root") -> Json:
    answer = await app.call("GET", "/api/system", as_whom=whom)
    assert answer.status_code == 200, answer.text
    data: Json = answer.json()["data"]
    return data


@pytest.mark.promise("GET /api/system: what the service runs with")
async def test_it_tells_what_the_service_runs_with(app: TestApp) -> None:
    data = await report(app)
    assert (data["database"], data["redis"], data["mail"]) == (True, True, {"delivery": "files", "givenUp": []})
    settings = {item["name"]: item for item in data["settings"]}
    assert settings.keys() == {f"TENANTRY_{name}" for name in VARIABLES}
    assert settings["TENANTRY_SESSION_DAYS"] == {
        "name": "TENANTRY_SESSION_DAYS",
        "value": "30",
        "isSecret": False,
        "isDefault": True,
    }
    assert settings["TENANTRY_SECRET_KEY"]["isDefault"] is False
    assert {key["algorithm"] for key in data["keys"] if key["isUsed"]} == {"EdDSA", "RSA-OAEP-256", "ECDH-ES+A256KW"}


async def test_a_mail_that_was_given_up_is_in_it_with_the_reason(app: TestApp) -> None:
    now = app.adapters.clock.now()
    mail = Mail(id=UUID(int=7), kind="welcome", recipient="gone@acme.example", at=now)
    async with app.adapters.database.transaction(EveryTenant()) as tx:
        await tx.outbox.add(mail)
        await tx.outbox.give_up(mail.id, now, "550 no such user")
    (found,) = (await report(app))["mail"]["givenUp"]
    assert (found["id"], found["kind"], found["recipient"], found["reason"]) == (
        str(mail.id),
        "welcome",
        "gone@acme.example",
        "550 no such user",
    )


@pytest.mark.promise("security, console: the state of the service is for super-admins, and shows no secret")
async def test_no_secret_is_in_it() -> None:
    app = await open_test_app(SECRETS)
    await app.login("root", ADMIN)
    answer = await app.call("GET", "/api/system", as_whom="root")
    assert answer.status_code == 200
    assert "sentinel" not in answer.text
    assert SECRET_KEY not in answer.text
    shown = {item["name"]: item for item in answer.json()["data"]["settings"]}
    for name in SECRETS:
        assert shown[name]["isDefault"] is False, name
        assert shown[name]["value"] == ("our-client" if name.endswith("_ID") else None)
    assert {name for name in VARIABLES if VARIABLES[name].secret} <= {
        name.removeprefix("TENANTRY_") for name, item in shown.items() if item["isSecret"]
    }
    assert answer.json()["data"]["mail"]["delivery"] == "smtp"
    await app.client.aclose()


@pytest.mark.promise("security, console: the state of the service is for super-admins, and shows no secret")
@pytest.mark.parametrize(("whom", "status"), [("root", 200), ("acme", 403), ("reader", 403), (None, 401)])
async def test_it_is_for_super_admins_with_the_permission(app: TestApp, whom: str | None, status: int) -> None:
    answer = await app.call("GET", "/api/system", as_whom=whom)
    assert answer.status_code == status
