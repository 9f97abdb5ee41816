"""Identifiers of tenants: short names for host names or paths."""

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
"""Identifiers refused for new tenants, because a host name or path with one would look like the service's."""


def is_identifier(text: str) -> bool:
    return _IDENTIFIER.fullmatch(text) is not None


def is_free_identifier(text: str) -> bool:
    """Return whether a tenant may get the identifier. Older tenants retain theirs."""
    # Security: DNS reserves two hyphens in this position, and browsers show ``xn--…`` as another name (RFC 5891,
    # section 4.2.3.1).
    if text[2:4] == "--":
        return False
    return is_identifier(text) and text.strip("-") == text and text not in RESERVED_IDENTIFIERS
