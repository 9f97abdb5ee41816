"""Identifiers of tenants: short names in the place of a host name or a path."""

import re

SYSTEM_IDENTIFIER = "system"

_IDENTIFIER = re.compile(r"[a-z0-9-]{2,63}")


RESERVED_IDENTIFIERS = frozenset(
    """
    account accounts admin administrator all api app apps assets auth billing blog cdn console current dashboard docs
    edit files health help localhost login logout mail me metrics mine new none null oauth openid own register root saml
    self sso static status support system undefined well-known www
    """.split()
)
"""Identifiers that no new tenant gets: in the place of a host name or a path they would speak for the service."""


def is_identifier(text: str) -> bool:
    return _IDENTIFIER.fullmatch(text) is not None


def is_free_identifier(text: str) -> bool:
    """Whether a tenant may be given the identifier; older tenants keep what they have."""
    # Security: DNS reserves two hyphens there; browsers show ``xn--…`` as another name (RFC 5891, section 4.2.3.1).
    if text[2:4] == "--":
        return False
    return is_identifier(text) and text.strip("-") == text and text not in RESERVED_IDENTIFIERS
