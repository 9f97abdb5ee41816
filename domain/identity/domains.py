"""Domains of tenants, proved by a DNS record, and the modes in which users join through them."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from msgspec import Struct

from domain.errors import FieldError
from domain.identity.users import email_key

DomainMode = Literal["off", "request", "join"]
DomainState = Literal["pending", "verified", "lost"]
JoinStatus = Literal["pending", "approved", "declined"]

DOMAINS = 20
"""Maximum domains of a tenant."""

CHECKED_EVERY = timedelta(days=1)
PREFIX = "_tenantry."
VALUE = "tenantry-verification="

# Anyone can get an address at these domains, so only the mail provider could prove such a domain.
PUBLIC_MAIL = frozenset(
    """
    126.com 163.com aim.com alice.it aol.com arcor.de att.net bell.net bigpond.com bk.ru bluewin.ch btinternet.com
    charter.net comcast.net cox.net duck.com earthlink.net email.com email.cz fastmail.com fastmail.fm foxmail.com
    free.fr freenet.de gmail.com gmx.at gmx.ch gmx.com gmx.de gmx.net googlemail.com hanmail.net hey.com
    hotmail.co.uk hotmail.com hotmail.de hotmail.es hotmail.fr hotmail.it hushmail.com icloud.com inbox.ru
    interia.pl juno.com kpnmail.nl laposte.net libero.it list.ru live.co.uk live.com live.de live.fr live.nl mac.com
    mail.com mail.de mail.ru mailbox.org mailinator.com me.com msn.com naver.com neuf.fr ntlworld.com o2.pl onet.pl
    online.de optonline.net optusnet.com.au orange.fr outlook.com outlook.de outlook.es outlook.fr outlook.it
    passport.com pm.me posteo.de proton.me protonmail.ch protonmail.com qq.com rambler.ru rediffmail.com riseup.net
    rocketmail.com rogers.com runbox.com sapo.pt sbcglobal.net seznam.cz sfr.fr shaw.ca sina.com sky.com skynet.be
    sohu.com sympatico.ca t-online.de talktalk.net telenet.be telus.net terra.com.br tiscali.it tuta.com tuta.io
    tutanota.com uol.com.br verizon.net virgilio.it virginmedia.com wanadoo.fr web.de windowslive.com wp.pl
    xs4all.nl ya.ru yahoo.ca yahoo.co.in yahoo.co.jp yahoo.co.uk yahoo.com yahoo.com.au yahoo.com.br yahoo.de
    yahoo.es yahoo.fr yahoo.it yandex.com yandex.ru yeah.net ymail.com yopmail.com ziggo.nl zoho.com
    """.split()
)


class TenantDomain(Struct, frozen=True, kw_only=True):
    """Domain of a tenant, in ASCII (``xn--bcher-kva.example``), with roles for users joining through it.

    ``set_by`` is the user who set the roles, None for the operator. ``proof`` is the required content of the DNS
    record; a domain added again gets a new proof. ``checked_at`` is the time of housekeeping's last lookup.
    """

    tenant_id: UUID
    domain: str
    mode: DomainMode
    role_ids: tuple[UUID, ...]
    proof: str
    state: DomainState = "pending"
    set_by: UUID | None
    created_at: datetime
    checked_at: datetime


class JoinRequest(Struct, frozen=True, kw_only=True):
    """Request of a user to join a tenant, with an address at one of the tenant's domains."""

    tenant_id: UUID
    user_id: UUID
    domain: str
    created_at: datetime
    status: JoinStatus = "pending"
    ended_at: datetime | None = None
    ended_by: UUID | None = None


def normal_domain(text: str) -> str | None:
    """Return the normal form of a domain, or None if invalid: ``"Bücher.example"`` is ``xn--bcher-kva.example``."""
    # Check the text as the domain of an address, because an address has no final dot, port or path.
    key = email_key(f"x@{text}") if text == text.strip() else None
    if key is None:
        return None
    domain = key.partition("@")[2]
    labels = domain.split(".")
    is_name = len(labels) > 1 and all(_is_label(label) for label in labels)
    return domain if is_name and len(domain) <= 240 and not labels[-1].isdigit() else None


def _is_label(label: str) -> bool:
    return label.replace("-", "").isalnum() and not label.startswith("-") and not label.endswith("-")


def domain_errors(text: str) -> list[FieldError]:
    domain = normal_domain(text)
    if domain is None:
        return [FieldError("domain", "is not a domain: write it like acme.example")]
    if domain in PUBLIC_MAIL:
        return [FieldError("domain", "is a public mail provider, not a company's domain")]
    return []


def domain_of(address_key: str) -> str:
    """Return exactly the domain of a normal address: ``ada@acme.example`` is at ``acme.example``."""
    return address_key.rpartition("@")[2]


def record_name(domain: str) -> str:
    return PREFIX + domain


def record_value(proof: str) -> str:
    return VALUE + proof


def is_proved(domain: TenantDomain, texts: Iterable[str]) -> bool:
    """Return whether one of the texts in the DNS record equals the proof exactly."""
    return record_value(domain.proof) in texts
