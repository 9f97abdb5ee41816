"""Administration of users, roles, permissions, memberships, tenants and their settings."""

from domain.parts.part import AdministrationArea, Columns, Part, permissions_on

ADMINISTRATION = Part(
    permissions=(
        *permissions_on("users"),
        *permissions_on("roles"),
        *permissions_on("tenants"),
        "create:permissions",
        "read:permissions",
        "read:tenant-settings",
        "update:tenant-settings",
    ),
    audit_actions={
        "user.created": "An administrator created a user.",
        "user.imported": "The operator imported a user.",
        "user.changed": "A user's data was changed, by an administrator or by the user.",
        "user.roles-changed": "The roles of a user in a tenant were changed.",
        "user.deleted": "An administrator deleted a user.",
        "user.unlocked": "A lock after failed logins was ended.",
        "user.sessions-ended": "An administrator ended all sessions of a member.",
        "password.set-by-operator": "A password was set by `tenantry users set-password`.",
        "tenant.created": "A tenant was created, by a super-admin or by its owner.",
        "tenant.changed": "A super-admin changed a tenant.",
        "tenant.deleted": "A super-admin deleted a tenant.",
        "settings.changed:{names}": "A tenant's settings were changed; the names say which, and no value is kept.",
        "membership.changed": "A user was taken into a tenant, or their roles there were changed.",
        "membership.ended": "A user left a tenant, or was removed from it.",
        "owner.changed": "A super-admin named another owner of a tenant.",
        "role.created": "A role was created.",
        "role.changed": "A role was changed.",
        "role.deleted": "A role was deleted.",
        "permission.created": "A permission was created.",
    },
    areas=(
        AdministrationArea("members", "read:users"),
        AdministrationArea("roles", "read:roles"),
        AdministrationArea("settings", "read:tenant-settings"),
        AdministrationArea("tenants", "read:tenants", super_admin=True),
    ),
    tables={
        "tenants": Columns(internal="id name identifier domain is_active created_at settings deleted_at"),
        "memberships": Columns(internal="tenant_id user_id is_default joined_at is_owner sessions_ended_at"),
        "membership_roles": Columns(internal="tenant_id user_id role_id"),
        "roles": Columns(internal="id tenant_id name description permissions"),
        "user_roles": Columns(internal="user_id role_id"),
        "permissions": Columns(internal="id name description category"),
    },
)
