"""`/api/system`: what super-admins see of the service, and that no secret is in it.

`/api/system/traffic`: who is told the requests of the last hours.

/metrics: who is told what the service counts.

The metric of second factors: every outcome is counted under its method.
"""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest

from adapters.http.app import HttpSettings, build_app
from adapters.prometheus.metrics import PrometheusMetrics
from adapters.prometheus.outcomes import SecondFactorCounts
from application.ports.database import Mail
from domain.errors import ServiceUnavailable
from domain.scope import EveryTenant
from entrypoints.assembly.http_settings import http_settings
from entrypoints.settings.settings import VARIABLES, read_settings
from entrypoints.testing import app as testing
from entrypoints.testing.app import SECRET_KEY
from tests.http.app import ADMIN, SETTINGS, TestApp, client_of, open_test_app
from tests.http.identity.factors.factors import Person

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
async def test_the_system_report_contains_servers_settings_and_keys(app: TestApp) -> None:
    data = await report(app)
    assert (data["database"], data["redis"], data["jobs"]) == (True, True, [])
    assert data["mail"] == {"delivery": "files", "waiting": 0, "oldest": None, "givenUp": []}
    settings = {item["name"]: item for item in data["settings"]}
    assert settings.keys() == {f"TENANTRY_{name}" for name in VARIABLES}
    assert settings["TENANTRY_SESSION_DAYS"] == {
        "name": "TENANTRY_SESSION_DAYS",
        "value": "30",
        "isSecret": False,
        "isDefault": True,
        "source": None,
    }
    assert settings["TENANTRY_SECRET_KEY"]["isDefault"] is False
    assert {key["algorithm"] for key in data["keys"] if key["isUsed"]} == {"EdDSA", "RSA-OAEP-256", "ECDH-ES+A256KW"}


async def test_the_report_contains_waiting_mails_and_the_last_results_of_jobs(app: TestApp) -> None:
    start = app.clock.now()
    mail = Mail(id=UUID(int=8), kind="welcome", recipient="ada@acme.example", at=start)
    async with app.adapters.database.transaction(EveryTenant()) as tx:
        await tx.outbox.add(mail)
    results = app.services.job_results
    await results.record("backup", 4_096)
    app.clock.move(timedelta(hours=1))
    await results.recorded("unusedFiles", _seven)()
    app.clock.move(timedelta(minutes=10))
    await results.recorded("unusedFiles", _nothing)()
    with pytest.raises(ZeroDivisionError):
        await results.recorded("tables", _broken)()
    with pytest.raises(ServiceUnavailable):
        await results.recorded("domains", _unavailable)()
    await app.login("root", ADMIN)
    data = await report(app)
    assert (data["mail"]["waiting"], at(data["mail"]["oldest"])) == (1, start)
    found = [(each["job"], each["hasFailed"], each["amount"], at(each["at"]) - start) for each in data["jobs"]]
    assert found == [
        ("backup", False, 4_096, timedelta()),
        ("tables", True, 0, timedelta(minutes=70)),
        ("unusedFiles", False, 7, timedelta(minutes=70)),
    ]
    assert at(data["jobs"][2]["workedAt"]) - start == timedelta(hours=1)
    assert data["jobs"][1]["workedAt"] is None


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


async def _seven() -> int:
    return 7


async def _nothing() -> int:
    return 0


async def _broken() -> int:
    return 1 // 0


async def _unavailable() -> int:
    raise ServiceUnavailable("The database is away.")


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


@pytest.mark.promise("GET /api/system/traffic: for super-admins only")
@pytest.mark.parametrize(("whom", "status"), [("root", 200), ("acme", 403), (None, 401)])
async def test_it_is_for_super_admins(app: TestApp, whom: str | None, status: int) -> None:
    answer = await app.call("GET", "/api/system/traffic", as_whom=whom)
    assert answer.status_code == status
    if status == 200:
        points = answer.json()["data"]["points"]
        assert points[-1].keys() == {"at", "seconds", "requests", "errors", "refused", "p50", "p99"}
        assert sum(point["requests"] for point in points) >= 5


async def test_metrics_are_this_machines_without_a_token(app: TestApp) -> None:
    # others count in the application of ``app``
    counted = testing.client_of(build_app(app.services, HttpSettings(), PrometheusMetrics()))
    await counted.get("/health/live")
    answer = await counted.get("/metrics")
    assert answer.status_code == 200
    assert 'tenantry_answers_total{endpoint="health.live",status="200"} 1.0' in answer.text
    assert 'tenantry_answer_seconds_count{endpoint="health.live"} 1.0' in answer.text
    forwarded = await counted.get("/metrics", headers={"X-Forwarded-For": "203.0.113.9"})
    assert forwarded.status_code == 404


@pytest.mark.parametrize("host", ["attacker.example", "localhost.attacker.example", "127.0.0.1.attacker.example"])
async def test_metrics_without_a_token_are_not_shown_under_a_foreign_host_name(app: TestApp, host: str) -> None:
    async with client_of(app.services, HttpSettings()) as client:
        for name, status in ((host, 404), ("localhost:8000", 200), ("127.0.0.1", 200), ("[::1]:8000", 200)):
            assert (await client.get("/metrics", headers={"Host": name})).status_code == status, name


@pytest.mark.parametrize(
    ("base_url", "status"),
    [
        ("http://localhost:8000", 200),
        ("http://127.0.0.1:8000", 200),
        ("https://api.example.com", 404),
        ("http://192.0.2.7:8000", 404),
        ("https://localhost.example.com", 404),
    ],
)
async def test_metrics_of_a_public_service_require_a_token(app: TestApp, base_url: str, status: int) -> None:
    is_public = http_settings(read_settings({**SETTINGS, "TENANTRY_BASE_URL": base_url})).is_public
    async with client_of(app.services, HttpSettings(is_public=is_public)) as client:
        assert (await client.get("/metrics")).status_code == status
    async with client_of(app.services, HttpSettings(is_public=is_public, metrics_token="t")) as client:
        assert (await client.get("/metrics", headers={"Authorization": "Bearer t"})).status_code == 200


async def test_an_ipv4_mapped_loopback_address_counts_as_this_machine(app: TestApp) -> None:
    application: Any = build_app(app.services, HttpSettings(), PrometheusMetrics())
    for peer, status in {"::ffff:127.0.0.1": 200, "::1": 200, "::ffff:203.0.113.9": 404}.items():
        transport = httpx.ASGITransport(application, client=(peer, 4711))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            assert (await client.get("/metrics")).status_code == status, peer


TOKENS = {"Bearer the token": 200, "bearer the token": 200, "Bearer another": 401, "the token": 401, "": 401}.items()


async def test_metrics_with_a_token_are_its_bearers(app: TestApp) -> None:
    async with client_of(app.services, HttpSettings(metrics_token="the token")) as client:
        for given, status in TOKENS:
            answer = await client.get("/metrics", headers={"Authorization": given})
            assert answer.status_code == status, given


async def test_what_came_of_second_factors_is_counted(app: TestApp) -> None:
    metrics, person = PrometheusMetrics(), Person(app)
    counts = app.services.factor_counts
    assert isinstance(counts, SecondFactorCounts)
    counts.listeners.append(metrics.see_second_factor)
    await person.login()
    await person.add_app()
    ticket = await person.ticket()
    for code in ("000000", "000000", person.code()):
        await person.verify(ticket, code=code)
    for _ in range(5):
        await person.verify(await person.ticket(), code="000000")
    locked = await person.verify(await person.ticket(), code="000000")
    assert locked.json()["errorCode"] == "ACCOUNT_LOCKED"
    text = metrics.text(await app.services.monitoring.shared_state()).decode()
    assert 'tenantry_mfa_total{method="totp",outcome="refused"} 7.0' in text
    assert 'tenantry_mfa_total{method="totp",outcome="accepted"} 1.0' in text
    assert 'tenantry_mfa_total{method="totp",outcome="locked"} 1.0' in text
