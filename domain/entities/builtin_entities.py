"""The service's own entities, served like declared ones: applications, the audit trail and members."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct
from msgspec.structs import replace

from domain.entities.markers import MEMBERS, Declaration, entity, unique
from domain.errors import FieldError
from domain.identity.redirects import MOST_ADDRESSES, redirect_mistake
from domain.scope import PERMISSION_HINT, AuditEvent, is_permission

Label = Annotated[str, Meta(min_length=1, max_length=100)]
PermissionName = Annotated[str, Meta(max_length=100)]


@entity("applications", search=["name"], unique=[unique("app_id")], tenant_owned=False)
class Application(Struct, rename="camel", kw_only=True):
    """A client application, named in ``X-App-Id``.

    ``allowed_tenant_ids`` None means all tenants, an empty list none. ``redirect_urls`` are the addresses to which the
    service's own pages may hand a login over, compared exactly.
    """

    app_id: Label
    name: Label
    is_active: bool = True
    allowed_tenant_ids: list[UUID] | None = None
    required_permission: PermissionName | None = None
    redirect_urls: list[str] | None = None

    def check(self, before: "Application | None") -> Iterator[FieldError]:
        # The service reads the id in a header as Latin-1 and trims it, so new ids must survive this. Clients send older
        # ids in bodies.
        if (before is None or before.app_id != self.app_id) and not all("!" <= char <= "~" for char in self.app_id):
            yield FieldError("appId", "must be printable ASCII characters without spaces")
        # A permission that was stored before this rule existed must not block other changes, such as closing the
        # application.
        is_kept = before is not None and before.required_permission == self.required_permission
        if not is_kept and self.required_permission is not None and not is_permission(self.required_permission):
            yield FieldError("requiredPermission", PERMISSION_HINT)
        addresses = self.redirect_urls or []
        if len(addresses) > MOST_ADDRESSES:
            yield FieldError("redirectUrls", f"accepts at most {MOST_ADDRESSES} addresses")
        for number, address in enumerate(addresses[:MOST_ADDRESSES]):
            if (mistake := redirect_mistake(address)) is not None:
                yield FieldError(f"redirectUrls[{number}]", mistake)


# No arguments of ``@entity``: projects have not asked for rows that some tenants share or that only people write.
# Security: a service account that registers a redirect address could receive the sessions of people who log in there.
_declared: Declaration = Application.__entity__  # type: ignore[attr-defined]
Application.__entity__ = replace(_declared, shared_with="allowed_tenant_ids", by_people=True)  # type: ignore[attr-defined]

entity(
    "audit-events",
    soft_delete=False,
    writable=False,
    shows_tenant=True,
    sort="-occurred_at",
    columns=["occurred_at", "action", "actor_id", "target_id", "address", "request_id"],
)(AuditEvent)


@entity(
    MEMBERS,
    search=["full_name"],
    search_index=False,
    soft_delete=False,
    writable=False,
    sort="full_name",
    display="full_name",
    columns=["full_name", "joined_at"],
)
class TenantMember(Struct, rename="camel", kw_only=True):
    """A member of the tenant; the row's id is the user's."""

    full_name: str
    profile_picture_url: str | None = None
    joined_at: Annotated[datetime, Meta(tz=True)]


_of_members: Declaration = TenantMember.__entity__  # type: ignore[attr-defined]
TenantMember.__entity__ = replace(_of_members, is_view=True, read_with="read:users")  # type: ignore[attr-defined]

BUILTIN_ENTITIES = (Application, AuditEvent, TenantMember)
