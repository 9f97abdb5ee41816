"""Every action of the audit trail."""

from documentation.markdown import code, sections, table
from domain.parts.composition import AUDIT_ACTIONS

INTRODUCTION = """\
`GET /api/audit-events` lists the audit trail of a tenant to those who hold `read:audit-events`, with the filters of
any entity: `?action=login.failed&occurredAtAfter=2026-01-01`. In braces stands what varies, such as the name of a
domain: `?action.startsWith=domain.` finds them all. An event has `actorId` (who), `action`, `targetId` (on
what), `address`, `requestId` and `occurredAt`. It is written in the transaction of what it tells, so that neither is
there without the other. The service can add events, and neither change nor delete any;
[`AUDIT_RETENTION_DAYS`](../settings.md) ends them by age."""


def page() -> str:
    rows = ((code(name), meaning) for name, meaning in sorted(AUDIT_ACTIONS.items()))
    return sections("# Audit actions", INTRODUCTION, table(("Action", "Written when"), rows))
