"""Use cases of administrators: users, roles, permissions, tenants, memberships and the import of users."""
