"""The state of the whole service, and refused operations."""

from domain.parts.part import AdministrationArea, Part

READ_SYSTEM = "read:system"
"""Permission to see the state of the whole service, for super-admins alone."""

OPERATIONS = Part(
    permissions=(READ_SYSTEM,),
    audit_actions={
        "{operation}.refused": "An operation of administration was refused with 403; once a minute for each caller.",
        "{operation}.limited": "A rate limit refused an operation of administration; once a minute for each caller.",
    },
    areas=(AdministrationArea("system", READ_SYSTEM, super_admin=True),),
)
