"""Rows of declared entities. Each entity has permissions of its own, which its declaration names."""

from domain.parts.part import AdministrationArea, Part

ENTITIES = Part(
    audit_actions={"tenant-scope.{operation}": "A super-admin reached into the rows of another tenant, or of all."},
    areas=(
        AdministrationArea("audit", "read:audit-events"),
        AdministrationArea("applications", "read:applications"),
    ),
)
