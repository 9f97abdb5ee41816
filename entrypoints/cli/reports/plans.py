"""Query plans of each entity's usual requests, as text."""

from adapters.postgres.entities.reading.plans import plans_of, recommended_indexes
from entrypoints.assembly.entities import load_registry
from entrypoints.settings.settings import Settings
from entrypoints.terminal.answers import Answer
from entrypoints.terminal.errors import SETTINGS, CommandError

READS = "  ! reads "
CONSIDER = "  ? "


async def plans(settings: Settings) -> str:
    """Return plans for the rows in the database; warnings hold for any number of rows."""
    assert settings.database_url is not None
    if settings.database_kind == "citus":
        raise CommandError(
            "The nodes of a Citus cluster plan the queries: this command reads plans of one server.", SETTINGS
        )
    lines: list[str] = []
    registry = load_registry(settings.entities)
    found = await plans_of(settings.database_url.reveal(), registry)
    for plural, planned in found.items():
        lines.append(f"/api/{plural}")
        for plan in planned:
            lines.append(f"  {plan.asked}: {'; '.join(plan.steps)}")
            if plan.scans is not None:
                lines.append(f"  {READS}{plan.scans}")
        lines += [f"  {CONSIDER}{advice}" for advice in recommended_indexes(registry[plural])]
    data = {
        plural: {"requests": list(planned), "advice": list(recommended_indexes(registry[plural]))}
        for plural, planned in found.items()
    }
    return Answer("\n".join(lines), data)
