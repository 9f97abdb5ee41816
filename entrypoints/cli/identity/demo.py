"""``tenantry demo``: two tenants with users, categories, products and reviews, created by the ordinary use cases."""

import secrets
from collections.abc import Sequence
from typing import cast
from uuid import UUID

from application.identity.administration.memberships import MemberForm
from application.identity.administration.roles import RoleForm
from application.identity.administration.tenant_forms import NewTenantForm
from application.identity.administration.user_forms import NewUserForm
from domain.entities.catalogue import ENTITIES
from domain.scope import Caller, EveryTenant
from entrypoints.assembly.use_cases import Services
from entrypoints.cli.identity.demo_data import SHOPS, Person
from entrypoints.cli.identity.demo_rows import fill_catalogue
from entrypoints.cli.operator import CLIENT, open_services, operator
from entrypoints.server.preparation import prepare
from entrypoints.settings.settings import Settings
from entrypoints.terminal.answers import Answer
from entrypoints.terminal.errors import CommandError
from entrypoints.terminal.progress import Advance, progress_bar

SHOP_FLOOR = RoleForm(
    name="Shop floor",
    description="Reads the catalogue, counts the stock and writes reviews.",
    permissions=["read:categories", "read:products", "update:products", "read:reviews", "create:reviews"],
)
REVIEWER = RoleForm(
    name="Reviewer",
    description="Reads the catalogue, and sees and changes only their own reviews.",
    permissions=[
        *("read:categories", "read:products", "create:reviews"),
        *("read-own:reviews", "update-own:reviews", "delete-own:reviews"),
    ],
)
NO_CATALOGUE = (
    "There are no rows: the demo has some for the example catalogue alone, which TENANTRY_ENTITIES does not name "
    "(tenantry.catalogue)."
)


async def fill(settings: Settings) -> str:
    """Migrate the database, create the demo in it, and return the text to print."""
    admin_password = await prepare(settings)
    async with open_services(settings) as services:
        with progress_bar("Filling", sum(len(shop.people) + 1 for shop in SHOPS)) as advance:
            said = await fill_with(services, settings.base_url, advance)
    if admin_password is None:
        return said
    told = f"{said}\n\nThe super-admin {settings.admin_email} has the password {admin_password}: it is shown once."
    admin = {"email": settings.admin_email, "password": admin_password}
    return Answer(told, {**cast(dict[str, object], said.data), "admin": admin})


async def fill_with(services: Services, base_url: str, advance: Advance = lambda _count: None) -> Answer:
    """Create the demo, calling ``advance`` for each tenant and person.

    Raises CommandError and creates nothing if one of the tenants exists.
    """
    async with services.database.read_only(EveryTenant()) as read:
        for shop in SHOPS:
            if await read.tenants.by_identifier(shop.identifier) is not None:
                raise CommandError(f"There is a tenant {shop.identifier} already: the demo was filled before.")
    # One password for all example accounts, printed once.
    password = secrets.token_urlsafe(12)
    ids: dict[str, UUID] = {}
    lines, shops = [], []
    has_catalogue = _serves_catalogue(services)
    for shop in SHOPS:
        form = NewTenantForm(name=shop.name, identifier=shop.identifier)
        tenant = await services.tenants.create(operator(), form, CLIENT)
        caller = operator(tenant.id)
        for role in (SHOP_FLOOR, REVIEWER):
            await services.roles.create(caller, role, CLIENT)
        for person in shop.people:
            ids[person.email] = await _join(services, caller, person, password, ids.get(person.email))
            advance(1)
        count = await fill_catalogue(services, caller, ids, shop) if has_catalogue else 0
        advance(1)
        shops.append({"identifier": shop.identifier, "id": tenant.id, "people": len(shop.people), "products": count})
        filled = f"{len(shop.people)} people, {count} products" if has_catalogue else f"{len(shop.people)} people"
        lines.append(f"{shop.name} ({shop.identifier}): {filled}.")
    if not has_catalogue:
        lines.append(NO_CATALOGUE)
    logins = [f"  {email}  {who}" for email, who in _logins()]
    text = "\n".join([*lines, "", f"Log in at {base_url} with the password {password} as", *logins])
    people = [{"email": email, "password": password, "who": who} for email, who in _logins()]
    return Answer(text, {"tenants": shops, "logins": people})


def _logins() -> Sequence[tuple[str, str]]:
    admin, clerk, both, reviewer = SHOPS[0].people
    return (
        (admin.email, f"administrator of {SHOPS[0].name}"),
        (clerk.email, f"shop floor of {SHOPS[0].name}"),
        (reviewer.email, f"reviewer of {SHOPS[0].name}, who sees only their own reviews"),
        (both.email, "member of both tenants, who chooses one after the login"),
    )


async def _join(services: Services, caller: Caller, person: Person, password: str, known: UUID | None) -> UUID:
    if known is not None:
        membership = MemberForm(user_id=known, roles=list(person.roles))
        await services.memberships.save(caller, caller.tenant.id, membership, CLIENT)
        return known
    form = NewUserForm(email=person.email, password=password, full_name=person.name, roles=list(person.roles))
    made = await services.users.create(caller, form, CLIENT)
    # If an administrator sets the password, the user must change it at the first login; the operator's command avoids
    # this.
    await services.operator_accounts.set_password(person.email, password, CLIENT)
    return made.id


def _serves_catalogue(services: Services) -> bool:
    # A project may serve only its entities, or entities with the same names as the catalogue's.
    models = services.registry.models
    return {"categories", "products", "reviews"} <= models.keys() and models["products"].struct in ENTITIES
