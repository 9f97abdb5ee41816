"""Applications at login: refused when closed, not open to the tenant, or without their permission.

A tenant's logo: the addresses that a page may show, and what its policy names.
"""

from dataclasses import dataclass
from itertools import product
from uuid import UUID

import pytest

from application.identity.administration.tenant_forms import NewTenantForm
from application.identity.administration.user_forms import NewUserForm
from application.identity.hosted_login.appearance import Appearance, Logo, logo_of
from application.identity.login.forms import LoginForm, LoginResult, RefreshForm, SwitchForm
from application.ports.entities.records import Act, Change, NewRow
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.errors import Forbidden
from domain.scope import EveryTenant
from tests.application.identity.social.test_social_sign_in import complete_login
from tests.application.identity.social.test_social_sign_in import open_service as open_social_home
from tests.application.in_memory_service import EMAIL, HERE, PASSWORD, InMemoryService
from tests.builders import NOW, new_id

ACT = Act(by=None, at=NOW)


@dataclass
class Shop:
    """A service in which Ada is ``Admin`` in the tenant ``acme`` and has no role in ``other``."""

    service: InMemoryService
    acme: UUID
    other: UUID
    app: UUID

    async def open_to(self, **values: object) -> None:
        service = self.service
        async with service.adapters.database.transaction(EveryTenant()) as tx:
            await tx.records.change(service.adapters.registry["applications"], [Change(self.app, values)], ACT)

    async def login(self, app_id: str | None = "shop", tenant_id: UUID | None = None) -> LoginResult:
        form = LoginForm(
            email=EMAIL,
            password=PASSWORD,
            is_password_encrypted=False,
            preferred_tenant_id=tenant_id,
            requested_app_id=app_id,
        )
        return await self.service.services.sign_in.login(form, HERE)


async def open_shop(registry: Registry, database: WholeDatabase, **settings: str) -> Shop:
    service = await open_social_home(registry, database, **settings)
    services, root = service.services, await service.admin()
    tenants = [
        (await services.tenants.create(root, NewTenantForm(name=name.title(), identifier=name), HERE)).id
        for name in ("acme", "other")
    ]
    form = NewUserForm(email=EMAIL, password=PASSWORD, full_name="Ada", roles=[])
    made = await services.users.create(root, form, HERE)
    app = new_id()
    async with service.adapters.database.transaction(EveryTenant()) as tx:
        (admin,) = await tx.roles.by_names(None, ["Admin"])
        await tx.memberships.save(made.id, tenants[0], [admin.id], None, NOW)
        await tx.memberships.save(made.id, tenants[1], [], None, NOW)
        values: dict[str, object] = {"app_id": "shop", "name": "Shop", "is_active": True}
        values |= {"allowed_tenant_ids": None, "required_permission": None, "redirect_urls": None}
        await tx.records.add(registry["applications"], [NewRow(app, values)], ACT)
    acme, other = tenants
    return Shop(service, acme, other, app)


@pytest.fixture
async def shop(registry: Registry, database: WholeDatabase) -> Shop:
    return await open_shop(registry, database)


@pytest.mark.promise("identity, applications: the claim app_id")
async def test_an_open_application_is_named_in_every_token_of_the_session(shop: Shop) -> None:
    services, service = shop.service.services, shop.service
    chosen = await shop.login()
    assert service.caller(chosen).app_id == "shop"
    switched = await services.renewal.switch_tenant(service.caller(chosen), SwitchForm(tenant_id=shop.acme), HERE)
    refreshed = await services.renewal.refresh(RefreshForm(refresh_token=switched.refresh_token), HERE)
    for token in (switched.token, refreshed.token):
        claims = services.tokens.read(token, service.clock.now())
        assert claims.app_id == "shop"


async def test_without_an_application_no_token_names_one(shop: Shop) -> None:
    assert shop.service.caller(await shop.login(None)).app_id is None
    assert shop.service.caller(await shop.login("")).app_id is None


@pytest.mark.promise("identity, applications: Inactive application, tenant not in its list, permission missing: 403")
async def test_an_inactive_application_refuses_logins_and_the_choice_of_a_tenant(shop: Shop) -> None:
    await shop.open_to(is_active=False)
    for tenant_id in (None, shop.acme):
        with pytest.raises(Forbidden):
            await shop.login(tenant_id=tenant_id)
    assert (await shop.login("another")).token


@pytest.mark.promise("identity, applications: Inactive application, tenant not in its list, permission missing: 403")
@pytest.mark.parametrize("nobody", [True, False])
async def test_a_tenant_outside_the_list_is_refused(shop: Shop, nobody: bool) -> None:
    await shop.open_to(allowed_tenant_ids=[] if nobody else [shop.other])
    with pytest.raises(Forbidden):
        await shop.login(tenant_id=shop.acme)
    if nobody:
        with pytest.raises(Forbidden):
            await shop.login(tenant_id=shop.other)
    else:
        assert (await shop.login(tenant_id=shop.other)).token


@pytest.mark.promise("identity, applications: Inactive application, tenant not in its list, permission missing: 403")
async def test_the_permission_is_asked_for_in_the_tenant(shop: Shop) -> None:
    await shop.open_to(required_permission="sell:products")
    assert (await shop.login(tenant_id=shop.acme)).token
    with pytest.raises(Forbidden):
        await shop.login(tenant_id=shop.other)
    chosen = shop.service.caller(await shop.login())
    with pytest.raises(Forbidden):
        await shop.service.services.renewal.switch_tenant(chosen, SwitchForm(tenant_id=shop.other), HERE)
    switched = await shop.service.services.renewal.switch_tenant(chosen, SwitchForm(tenant_id=shop.acme), HERE)
    assert switched.current_tenant.id == shop.acme


async def test_closing_an_application_refuses_refresh_and_switch_and_uses_no_token_up(shop: Shop) -> None:
    services = shop.service.services
    result = await shop.login(tenant_id=shop.acme)
    refresh = RefreshForm(refresh_token=result.refresh_token)
    await shop.open_to(is_active=False)
    with pytest.raises(Forbidden):
        await services.renewal.refresh(refresh, HERE)
    with pytest.raises(Forbidden):
        await services.renewal.switch_tenant(shop.service.caller(result), SwitchForm(tenant_id=shop.other), HERE)
    await shop.open_to(is_active=True)
    assert (await services.renewal.refresh(refresh, HERE)).token


async def test_social_logins_are_asked_the_same(shop: Shop) -> None:
    assert (await complete_login(shop.service, "ada", requested_app_id="shop")).token
    await shop.open_to(is_active=False)
    with pytest.raises(Forbidden):
        await complete_login(shop.service, "ada", requested_app_id="shop")


@pytest.mark.promise(
    "identity, applications: the header takes precedence over the body; unregistered applications where registration "
    "is required"
)
async def test_where_registration_is_required_an_unknown_application_is_refused(
    registry: Registry, database: WholeDatabase
) -> None:
    shop = await open_shop(registry, database, REQUIRE_REGISTERED_APP="true")
    assert (await shop.login("shop")).token
    assert (await shop.login(None)).token
    for unknown in ("another", "SHOP", "shop "):
        with pytest.raises(Forbidden):
            await shop.login(unknown)


async def test_a_deleted_application_is_registered_no_more(shop: Shop) -> None:
    await shop.open_to(is_active=False)
    async with shop.service.adapters.database.transaction(EveryTenant()) as tx:
        await tx.records.remove(shop.service.adapters.registry["applications"], [shop.app], ACT, None)
    assert (await shop.login()).token


@pytest.mark.parametrize(
    ("given", "address", "source"),
    [
        ("https://acme.example/logo.svg", "https://acme.example/logo.svg", "https://acme.example/logo.svg"),
        ("https://CDN.acme.example:8443/a%20b.png", "https://cdn.acme.example:8443/a%20b.png", None),
        ("https://acme.example/logo.svg?v=2&x='1'", "https://acme.example/logo.svg?v=2&x=%271%27",
         "https://acme.example/logo.svg"),
        ("https://acme.example/logo.svg#part", "https://acme.example/logo.svg", None),
        ("HTTPS://acme.example/L%C3%B6we.svg", "https://acme.example/L%C3%B6we.svg", None),
        ("https://acme.example/Löwe.svg", "https://acme.example/L%C3%B6we.svg", None),
    ],
)  # fmt: skip
def test_a_picture_is_named_exactly(given: str, address: str, source: str | None) -> None:
    assert logo_of(given) == Logo(address=address, source=source or address)


@pytest.mark.promise(
    "sign-in pages, attacks: a logo's address that opens the policy, or tells another host where it is shown"
)
@pytest.mark.parametrize(
    "given",
    [None, "", "http://acme.example/logo.svg", "https://acme.example", "https://acme.example/", "https://acme.example/a/",
     "https://acme.example?logo", "https://ada:pw@acme.example/logo.svg", "https://acme.example:port/logo.svg",
     "https://[::1/logo.svg", "https://localhost/logo.svg", "https://*.example/logo.svg", "https://bücher.example/l.svg",
     "https://acme.example;script-src/logo.svg", "data:image/png;base64,AAAA", "//acme.example/logo.svg",
     f"https://acme.example/{'ä' * 400}.svg"],
)  # fmt: skip
def test_a_logo_address_that_a_policy_cannot_name_exactly_is_ignored(given: str | None) -> None:
    assert logo_of(given) is None


def test_an_address_of_a_picture_has_2000_characters_at_most() -> None:
    start, end = "https://acme.example/", ".svg"
    longest = start + "a" * (2_000 - len(start + end)) + end
    assert logo_of(longest) == Logo(address=longest, source=longest)
    assert logo_of(longest.replace(end, f"a{end}")) is None


def luminance(channels: tuple[int, ...]) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    shares = [channel / 255 for channel in channels]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return sum(weight * share for weight, share in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_a_text_is_read_on_every_colour() -> None:
    """The contrast is 4.5 at least, as level AA asks of texts."""
    steps = range(0, 256, 15)
    for channels in (*product(steps, repeat=3), *((grey, grey, grey) for grey in range(256))):
        appearance = Appearance(name="Acme", color="#{:02x}{:02X}{:02x}".format(*channels))
        text = {"#000000": 0.0, "#ffffff": 1.0}[appearance.text_color]
        dark, light = sorted((text, luminance(channels)))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, appearance


@pytest.mark.promise(
    "sign-in pages, attacks: a logo's address that opens the policy, or tells another host where it is shown"
)
@pytest.mark.parametrize(
    "hostile", ["; script-src *", ", default-src *", '" onerror="alert(1)', "'unsafe-inline'", "\r\nX: y"]
)
def test_an_address_adds_nothing_to_a_policy(hostile: str) -> None:
    found = logo_of(f"https://acme.example/logo.svg{hostile}?{hostile}")
    assert found is not None
    assert not set(found.source + found.address) & set(" ;,\"'\r\n<>")
