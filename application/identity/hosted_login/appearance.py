"""Appearance of the sign-in pages: the branding of an application's tenant."""

import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from msgspec import UNSET, Struct

from application.ports.database import Database
from application.ports.identity.applications import ClientApplication
from application.ports.identity.tenants import TenantTransaction
from domain.scope import EveryTenant

LONGEST_LOGO = 2_000
_HOST = re.compile(r"([a-z0-9-]+\.)+[a-z0-9-]+(:[0-9]{1,5})?", re.IGNORECASE)
# Security: `;` and `,` end a source in a policy, so encode them and quotes.
_PATH, _QUERY = "/%:@!$&()*+=~", "/%:@!$&()*+=~?"


class Logo(Struct, frozen=True, kw_only=True):
    """The tenant's picture on another host: ``address`` for the page, and ``source`` without a query for the page's
    content security policy.
    """

    address: str
    source: str


class Appearance(Struct, frozen=True, kw_only=True):
    """Branding of sign-in pages for one tenant's application.

    ``name`` replaces the service's name; ``color`` is ``#rrggbb``; ``language`` is the tenant's setting.
    """

    name: str
    color: str | None = None
    support_email: str | None = None
    logo: Logo | None = None
    language: str | None = None

    @property
    def text_color(self) -> str:
        """Black or white, by the better contrast to ``color``: at least 4.5."""
        return "#000000" if self.color is None or _luminance(self.color) > 0.179 else "#ffffff"


@dataclass(frozen=True)
class Appearances:
    database: Database[TenantTransaction]

    async def of(self, application: ClientApplication) -> Appearance | None:
        """Return the branding of an application for one tenant; None for several."""
        tenants = application.allowed_tenant_ids
        if tenants is None or len(tenants) != 1:
            return None
        async with self.database.read_only(EveryTenant()) as read:
            tenant = await read.tenants.by_id(tenants[0])
        if tenant is None or not tenant.is_active:
            return None
        branding = tenant.settings.branding
        if branding is UNSET:
            return Appearance(name=tenant.name, language=tenant.settings.language)
        color = branding.primary_color
        return Appearance(
            name=branding.name or tenant.name,
            color=color if color and re.fullmatch(r"#[0-9a-fA-F]{6}", color) else None,
            support_email=branding.support_email,
            logo=logo_of(branding.logo_url),
            language=tenant.settings.language,
        )


def logo_of(url: str | None) -> Logo | None:
    """Return the picture for the page; None for an address without https or one that a policy cannot name exactly."""
    try:
        parts = urlsplit(url or "")
    except ValueError:
        return None
    path, query = quote(parts.path, safe=_PATH), quote(parts.query, safe=_QUERY)
    # Security: in a Content Security Policy, a path with a final slash matches all paths below it, and an empty path
    # the whole host.
    if parts.scheme != "https" or not _HOST.fullmatch(parts.netloc) or path.endswith("/") or not path:
        return None
    source = f"https://{parts.netloc.lower()}{path}"
    address = f"{source}?{query}" if query else source
    return Logo(address=address, source=source) if len(address) <= LONGEST_LOGO else None


def _luminance(color: str) -> float:
    """Relative luminance of ``#rrggbb``, from 0 to 1 (WCAG 2.2)."""
    parts = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
