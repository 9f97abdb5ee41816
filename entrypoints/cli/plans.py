"""The plans of each entity's usual queries, in words."""

from adapters.postgres.entities.reading.plans import plans_of
from entrypoints.entities import load_registry
from entrypoints.settings.settings import Settings

READS = "  ! reads "


async def plans(settings: Settings) -> str:
    """The plans are those for the rows there are; the warnings hold for any."""
    assert settings.database_url is not None
    lines: list[str] = []
    for plural, planned in (await plans_of(settings.database_url.reveal(), load_registry(settings.entities))).items():
        lines.append(f"/api/{plural}")
        for one in planned:
            lines.append(f"  {one.asked}: {'; '.join(one.steps)}")
            if one.scans is not None:
                lines.append(f"  {READS}{one.scans}")
    return "\n".join(lines)
