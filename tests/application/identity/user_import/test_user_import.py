"""Import of users: stored once, with their hashes, and with no rights beyond those a file may give."""

import json
from collections.abc import Sequence
from contextlib import suppress

import bcrypt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from application.identity.administration.tenant_forms import NewTenantForm
from application.identity.user_import.imported_rows import Form, Row, read_rows
from application.identity.user_import.user_import import Plan, Result, UserImport
from application.ports.identity.passwords import FOREIGN
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.entities.query.query import Query
from domain.errors import BadRequest, EmailNotConfirmed, InvalidCredentials
from domain.identity.users import User
from domain.scope import SYSTEM_TENANT_ID, EveryTenant, OneTenant
from entrypoints.cli.identity.user_import import user_import
from tests.application.identity.social.test_social_sign_in import account, open_service
from tests.application.in_memory_service import EMAIL, HERE, PASSWORD, InMemoryService
from tests.builders import role
from tests.contracts.passwords.test_foreign_hashes import keycloak, pbkdf2
from tests.http.app import ADMIN

HASH = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
HEADER = "email,fullName,passwordHash,emailConfirmed,tenant,roles"


@pytest.fixture
async def service(registry: Registry, database: WholeDatabase) -> InMemoryService:
    opened = await open_service(registry, database)
    root = await opened.admin()
    for identifier in ("acme", "other"):
        await opened.services.tenants.create(root, NewTenantForm(name="X", identifier=identifier), HERE)
    return opened


@pytest.fixture
def users(service: InMemoryService) -> UserImport:
    return user_import(service.adapters)


def csv(*lines: str, header: str = HEADER) -> list[Row]:
    return list(read_rows([f"{line}\r\n" for line in (header, *lines)], "csv"))


def outcomes(results: Sequence[Result]) -> list[tuple[int, str]]:
    return [(result.number, result.outcome.value) for result in results]


def wrong(results: Sequence[Result]) -> list[str]:
    return [error.field for result in results for error in result.errors]


async def known(service: InMemoryService, email: str = EMAIL) -> User:
    user = await account(service, email)
    assert user is not None
    return user


@pytest.mark.promise("identity, user import: Users with hashes of other systems log in, and the hash is replaced")
async def test_an_imported_user_logs_in_with_the_old_password_and_is_rehashed(
    service: InMemoryService, users: UserImport
) -> None:
    results = await users.store(csv(f"Ada@Example.com,Ada,{HASH},true,acme,Member"))
    assert outcomes(results) == [(2, "made")]
    before = await known(service)
    assert before.password_hash == FOREIGN + HASH
    result = await service.login()
    assert service.caller(result).roles == ("Member",)
    after = (await known(service)).password_hash or ""
    assert after.startswith("$argon2id$")
    assert (await service.login()).token
    assert (await known(service)).password_hash == after


async def test_a_failed_login_renews_nothing(service: InMemoryService, users: UserImport) -> None:
    await users.store(csv(f"{EMAIL},Ada,{HASH},true,,"))
    with pytest.raises(InvalidCredentials):
        await service.login("a wrong password")
    assert (await known(service)).password_hash == FOREIGN + HASH


async def test_importing_again_changes_nothing(service: InMemoryService, users: UserImport) -> None:
    rows = csv(
        f"{EMAIL},Ada,{HASH},true,acme,Admin;Member", f"{EMAIL},Ada,{HASH},true,other,", "bob@example.com,Bob,,,,"
    )
    assert outcomes(await users.store(rows)) == [(2, "made"), (3, "joined"), (4, "made")]
    await service.login()
    before = await known(service)
    again = csv(f"{EMAIL},Changed,,false,acme,", f"{EMAIL},Ada,{HASH},true,other,Admin", "bob@example.com,Bob,,,,")
    assert outcomes(await users.store(again)) == [(2, "kept"), (3, "kept"), (4, "kept")]
    assert await known(service) == before
    async with service.adapters.database.read_only(EveryTenant()) as read:
        state = await read.users.state_by_email(EMAIL)
    assert state is not None
    assert [sorted(role.name for role in membership.roles) for membership in state.memberships] == [
        ["Admin", "Member"],
        [],
    ]


async def test_who_was_imported_is_in_the_trail_of_the_tenant(
    service: InMemoryService, users: UserImport, registry: Registry
) -> None:
    """The trail of the tenant ``system`` has those without a tenant; who is kept as they are is in none."""
    database, told = service.adapters.database, {}
    for _ in range(2):
        await users.store(csv(f"{EMAIL},Ada,{HASH},true,acme,Member", "bob@example.com,Bob,,,,"))
    async with database.read_only(EveryTenant()) as read:
        acme = await read.tenants.by_identifier("acme")
    assert acme is not None
    for tenant_id in (acme.id, SYSTEM_TENANT_ID):
        async with database.read_only(OneTenant(tenant_id)) as read:
            page = await read.records.page(registry["audit-events"], Query(sort=()))
        events = [event for event in json.loads(bytes(page.items)) if event["action"] == "user.imported"]
        told[tenant_id] = [(event["actorId"], event["targetId"]) for event in events]
    ada, bob = [await known(service, email) for email in (EMAIL, "bob@example.com")]
    assert told == {acme.id: [(None, str(ada.id))], SYSTEM_TENANT_ID: [(None, str(bob.id))]}


async def test_joining_a_tenant_makes_issued_tokens_stale(service: InMemoryService, users: UserImport) -> None:
    await service.holder()
    caller = service.caller(await service.login())
    assert await service.is_alive(caller)
    await users.store(csv(f"{EMAIL},Ada,,,acme,Member"))
    assert not await service.is_alive(caller)
    assert service.caller(await service.login()).roles == ("Member",)


async def test_a_confirmed_address_counts_as_proved_and_another_does_not(
    service: InMemoryService, users: UserImport
) -> None:
    await users.store(csv(f"{EMAIL},Ada,{HASH},yes,,", f"bob@example.com,Bob,{HASH},,,"))
    assert (await known(service)).email_proved
    assert not (await known(service, "bob@example.com")).email_confirmed
    with pytest.raises(EmailNotConfirmed):
        await service.login(email="bob@example.com")


async def test_wrong_rows_are_named_with_every_field_and_the_others_stored(
    service: InMemoryService, users: UserImport
) -> None:
    results = await users.store(
        csv(
            f"{EMAIL},Ada,{HASH},true,acme,Member",
            "nobody,,5f4dcc3b,,,Member",
            "eve@example.com,Eve,,perhaps,acme,",
            "eve@example.com,Eve,,,nowhere,",
            "eve@example.com,Eve,,,acme,Chief",
            "a,b,c,d,e,f,g",
            "bob@example.com,Bob,,,,",
        )
    )
    assert outcomes(results) == [
        (2, "made"),
        (3, "refused"),
        (4, "refused"),
        (5, "refused"),
        (6, "refused"),
        (7, "refused"),
        (8, "made"),
    ]
    first = ["email", "fullName", "roles", "passwordHash"]
    assert wrong(results) == [*first, "emailConfirmed", "tenant", "roles", ""]
    assert await account(service, "eve@example.com") is None


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ("nobody,,5f4dcc3b,perhaps,nowhere,Member", ["emailConfirmed", "email", "fullName", "tenant", "passwordHash"]),
        ("nobody,Bob,5f4dcc3b,perhaps,acme,Chief;Cook", ["emailConfirmed", "email", "roles", "roles", "passwordHash"]),
        ("bob@example.com,Bob,5f4dcc3b,perhaps,,Member", ["emailConfirmed", "roles", "passwordHash"]),
    ],
)
async def test_a_flag_that_is_none_hides_no_other_wrong_field(users: UserImport, row: str, named: list[str]) -> None:
    assert wrong(await users.store(csv(row))) == named


async def test_a_json_row_with_wrong_types_reports_all_its_wrong_fields(users: UserImport) -> None:
    given = {"email": 7, "fullName": "", "roles": ["Member", 3], "passwordHash": "md5", "nickname": "x"}
    results = await users.store(list(read_rows([json.dumps(given)], "jsonl")))
    assert wrong(results) == ["email", "roles[1]", "nickname", "fullName", "passwordHash"]


@pytest.mark.promise("identity, administration: Grants by user import")
@pytest.mark.parametrize("tenant", ["acme", "system", ""])
@pytest.mark.parametrize("roles", ["SuperAdmin", "Member;SuperAdmin"])
async def test_an_import_cannot_make_a_super_admin(
    service: InMemoryService, users: UserImport, tenant: str, roles: str
) -> None:
    results = await users.store(csv(f"{EMAIL},Ada,{HASH},true,{tenant},{roles}", f"{ADMIN},Root,,,{tenant},{roles}"))
    assert outcomes(results) == [(2, "refused"), (3, "refused")]
    assert wrong(results) == ["roles", "roles"]
    assert await account(service) is None


async def test_imported_roles_that_do_not_fit_into_a_token_are_refused_with_the_held_roles(
    service: InMemoryService, users: UserImport
) -> None:
    first_role, second_role = (
        role(None, name=name, permissions=tuple(f"read:{name.lower()}-{'x' * 40}-{n}" for n in range(80)))
        for name in ("One", "Two")
    )
    bob = "bob@example.com"
    await service.register(bob)
    holder = await known(service, bob)
    async with service.adapters.database.transaction(EveryTenant()) as tx:
        for made in (first_role, second_role):
            await tx.roles.add(made)
        await tx.memberships.set_system_roles(holder.id, [first_role.id])
    rows = csv(
        f"{EMAIL},Ada,{HASH},true,acme,One;Two",
        f"{bob},Bob,,,acme,Two",
        f"{bob},Bob,,,acme,One",
        f"{bob},Bob,,,acme,Two",
        f"{EMAIL},Ada,{HASH},true,acme,Two",
    )
    results = await users.store(rows)
    assert outcomes(results) == [(2, "refused"), (3, "refused"), (4, "joined"), (5, "kept"), (6, "made")]
    assert wrong(results) == ["roles", "roles"]
    assert "more than a token can carry" in results[1].errors[0].message


@pytest.mark.promise("identity, administration: Grants by user import")
async def test_an_imported_row_never_replaces_an_existing_user(service: InMemoryService, users: UserImport) -> None:
    before = await known(service, ADMIN)
    assert outcomes(await users.store(csv(f"{ADMIN.upper()},Mallory,{HASH},true,,"))) == [(2, "kept")]
    assert await known(service, ADMIN) == before


async def test_a_late_conflict_of_one_row_does_not_fail_other_rows(service: InMemoryService, users: UserImport) -> None:
    class Late(UserImport):
        """An import during which Ada registers, between the plan and its execution."""

        async def _apply(self, plans: Sequence[Plan]) -> None:
            if await account(service) is None:
                await service.register()
            await super()._apply(plans)

    late = Late(**{name: getattr(users, name) for name in users.__dataclass_fields__})
    rows = csv(f"{EMAIL},Ada,{HASH},true,acme,", "bob@example.com,Bob,,,,")
    assert outcomes(await late.store(rows)) == [(2, "joined"), (3, "made")]


def lines(*rows: object) -> list[Row]:
    return list(read_rows([json.dumps(row) + "\n" for row in rows], "jsonl"))


async def test_json_lines_accept_the_same_users_and_keycloak_credentials(
    service: InMemoryService, users: UserImport
) -> None:
    credential = json.loads(keycloak("pbkdf2-sha256", pbkdf2("sha256", length=64)))
    ada = {"email": EMAIL, "fullName": "Ada", "passwordHash": credential, "emailConfirmed": True, "roles": ["Member"]}
    rows = lines(
        ada | {"tenant": "acme"}, {"email": "bob@example.com"}, ["what"], {"email": 1, "fullName": "x", "pet": 1}
    )
    results = await users.store(rows)
    assert outcomes(results) == [(1, "made"), (2, "refused"), (3, "refused"), (4, "refused")]
    assert sorted(wrong(results)) == ["", "email", "fullName", "pet"]
    assert (await service.login("lètmein ½")).token


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("email", "fullName"),
        ("email,fullName,pasword", "pasword"),
        ("email,fullName,Email", "twice"),
        ("", "no column"),
    ],
)
def test_a_header_that_cannot_be_right_is_refused_whole(header: str, said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        csv(header=header)


def test_column_names_of_other_systems_are_accepted() -> None:
    (row,) = csv("a@b.c,Ada,1,Member | Admin", header="EMAIL, full_name ,email_confirmed,Roles")
    assert row.user is not None
    assert (row.user.full_name, row.user.email_confirmed, row.user.roles) == ("Ada", True, ("Member", "Admin"))


def test_empty_lines_are_skipped_and_rows_have_their_original_line_numbers() -> None:
    rows = csv('a@b.c,"Ada\r\nLovelace",,,,', ",,,,,", "b@b.c,Bob,,,,", "nul@b.c,a\0b,,,,")
    assert [row.number for row in rows] == [2, 4, 5]
    assert [bool(row.errors) for row in rows] == [False, False, True]


@given(st.lists(st.text(max_size=40), max_size=10), st.sampled_from(["csv", "jsonl"]))
def test_no_file_breaks_the_reader(texts: list[str], form: Form) -> None:
    with suppress(BadRequest):
        for row in read_rows([f"{text}\n" for text in texts], form):
            assert (row.user is None) == bool(row.errors)
