"""Addresses are compared by IDNA 2008 and without folding letters into others: ``ß`` is not ``ss``.

Only addresses beyond ASCII, or with a domain that encodes such letters, can change. One whose new form is taken, and
one that nobody could register today, keeps its old form, and a warning names its account: an administrator gives it
another address.
"""

import logging

import sqlalchemy as sa
from alembic import op

from domain.identity.users import email_key

revision = "0052"
down_revision = "0051"

log = logging.getLogger(__name__)

USERS = sa.table("users", sa.column("id"), sa.column("email"), sa.column("email_key"))


def upgrade() -> None:
    if op.get_context().as_sql:
        log.warning("0052 recomputes the keys of addresses beyond ASCII, which SQL alone cannot: run tenantry migrate.")
        return
    connection = op.get_bind()
    is_encoded = USERS.c.email.regexp_match("@.*xn--", flags="i")
    beyond_ascii = sa.select(USERS).where(USERS.c.email.regexp_match("[^\\x01-\\x7f]") | is_encoded)
    for user in connection.execute(beyond_ascii).all():
        key = email_key(user.email)
        if key == user.email_key:
            continue
        taken = key and connection.scalar(sa.select(USERS.c.id).where(USERS.c.email_key == key))
        if key is None or taken is not None:
            why = "can be mistaken for another one" if key is None else f"is now the same as that of account {taken}"
            log.warning("The address of account %s %s: give the account another address.", user.id, why)
            continue
        connection.execute(sa.update(USERS).where(USERS.c.id == user.id).values(email_key=key))
