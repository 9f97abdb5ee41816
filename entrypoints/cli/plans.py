"""Query plans of each entity's usual requests, as text."""

from adapters.postgres.entities.reading.plans import plans_of
from entrypoints.entities import load_registry
from entrypoints.settings.settings import Settings

READS = "  ! reads "


async def plans(settings: Settings) -> str:
    """Plans are those for the rows in the database; warnings hold for any number of rows."""
    assert settings.database_url is not None
    lines: list[str] = []
    for plural, planned in (await plans_of(settings.database_url.reveal(), load_registry(settings.entities))).items():
        lines.append(f"/api/{plural}")
        for plan in planned:
            lines.append(f"  {plan.asked}: {'; '.join(plan.steps)}")
            if plan.scans is not None:
                lines.append(f"  {READS}{plan.scans}")
    return "\n".join(lines)
