"""An index of a role's holders in one tenant, in place of that of its holders in all of them."""

from alembic import op

revision = "0079"
down_revision = "0078"


def upgrade() -> None:
    op.create_index("ix_membership_roles_role", "membership_roles", ["role_id", "tenant_id"], if_not_exists=True)
    op.drop_index("ix_membership_roles_role_id", "membership_roles", if_exists=True)
