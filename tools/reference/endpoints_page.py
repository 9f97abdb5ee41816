"""Every endpoint with its permission and its limit."""

from collections import defaultdict
from collections.abc import Iterator

from litestar import Litestar
from litestar.routes import HTTPRoute

from adapters.http.request.rules import RULES, Policy, Rules, Unlimited
from domain.limits import Limit
from entrypoints.server.plugin import Service
from entrypoints.settings.settings import read_settings
from entrypoints.testing.app import MEMORY, SECRET_KEY
from tools.reference.markdown import code, sections, table

INTRODUCTION = """\
Every endpoint that the service answers with its example catalogue. *Limit* is the number of requests that a caller
may make in a minute, unless another time is said; above it the answer is 429 with `Retry-After`. Names in the column
*Operation* stand in metrics, in log lines and in the audit trail. `http://localhost:8000/docs/index.html` shows
parameters and bodies."""

HEAD = ("Method and path", "Operation", "Who may call it", "Limit")


def page() -> str:
    return sections("# Endpoints", INTRODUCTION, *_groups())


def _groups() -> Iterator[str]:
    groups: defaultdict[str, list[tuple[str, str, str, str]]] = defaultdict(list)
    for path, method, rules in sorted(_served(), key=lambda served: (served[0], served[1])):
        groups[_group(path)].append(
            (code(f"{method} {path}"), code(rules.operation), _who(rules.policy), _limit(rules))
        )
    for name in sorted(groups):
        yield f"## {name}"
        yield table(HEAD, groups[name])


def _served() -> Iterator[tuple[str, str, Rules]]:
    settings = read_settings({"TENANTRY_SECRET_KEY": SECRET_KEY})
    app: Litestar = Service(settings, runtime=MEMORY).application()
    for route in app.routes:
        assert isinstance(route, HTTPRoute), route
        for method, (handler, _) in route.route_handler_map.items():
            # HEAD and OPTIONS come by themselves, and so do Litestar's paths of the document, under random names
            if method not in ("HEAD", "OPTIONS") and not route.path.startswith("/docs/v1"):
                yield route.path_format, method, handler.opt[RULES]


def _group(path: str) -> str:
    """First steps of a path that endpoints share: ``/api/users``."""
    steps = path.split("/")
    return "/".join(steps[:3]) if steps[1] == "api" else "Beside /api"


def _who(policy: Policy) -> str:
    return ", ".join(_conditions(policy))


def _conditions(policy: Policy) -> Iterator[str]:
    if policy.asks is None:
        yield "anybody"
    elif policy.super_admin:
        yield f"super-admins with {code(policy.permission)}" if policy.permission else "super-admins"
    elif policy.permission is not None:
        yield " or ".join(map(code, (policy.permission, *policy.further_permissions)))
    else:
        yield "any token" if policy.asks == "any" else "a Tenant Token"
    if policy.people and policy.asks is not None:
        yield "people alone"
    if policy.recent:
        yield "with a recent proof"


def _limit(rules: Rules) -> str:
    limit = rules.limit
    if isinstance(limit, Unlimited):
        return "none"
    assert isinstance(limit, Limit)
    minutes = limit.window.total_seconds() / 60
    return str(limit.count) if minutes == 1 else f"{limit.count} in {minutes:g} minutes"
