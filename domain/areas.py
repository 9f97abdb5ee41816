"""Areas of administration, and who may use each: a client shows no screen that would answer 403 alone."""

from msgspec import Struct

from domain.scope import READ_SYSTEM, Rights


class AdministrationArea(Struct, frozen=True):
    """An area of administration: ``permission`` opens the endpoint that lists what it is about."""

    name: str
    permission: str
    super_admin: bool = False

    def is_open_to(self, rights: Rights) -> bool:
        return rights.may(self.permission) and (rights.is_super_admin or not self.super_admin)


AREAS = (
    AdministrationArea("members", "read:users"),
    AdministrationArea("invitations", "read:invitations"),
    AdministrationArea("roles", "read:roles"),
    AdministrationArea("service-accounts", "read:service-accounts"),
    AdministrationArea("settings", "read:tenant-settings"),
    AdministrationArea("audit", "read:audit-events"),
    AdministrationArea("applications", "read:applications"),
    AdministrationArea("tenants", "read:tenants", super_admin=True),
    AdministrationArea("system", READ_SYSTEM, super_admin=True),
)


def areas_of(rights: Rights) -> tuple[str, ...]:
    """Names of the areas that a caller with these rights may use."""
    return tuple(area.name for area in AREAS if area.is_open_to(rights))
