"""The metric of second factors: every outcome is counted under its method."""

from adapters.prometheus.metrics import PrometheusMetrics
from adapters.prometheus.outcomes import SecondFactorCounts
from tests.http.app import TestApp
from tests.http.identity.factors import Person


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
