"""Use cases of the account on adapters."""

from adapters.http.identity.account.part import AccountUseCases
from application.identity.account.accounts import Accounts
from application.identity.account.registration import Registration, RegistrationPolicy
from entrypoints.assembly.adapters import Adapters
from entrypoints.assembly.parts.self_service import email_changes_of
from entrypoints.assembly.parts.shared import SharedObjects, lockout_of
from entrypoints.settings.settings import Settings


def assemble_account(adapters: Adapters, settings: Settings, shared: SharedObjects) -> AccountUseCases:
    accounts = Accounts(
        database=adapters.database,
        passwords=adapters.passwords,
        password_reader=shared.password_reader,
        password_rules=shared.password_rules,
        revocations=adapters.revocations,
        cache=adapters.cache,
        clock=adapters.clock,
        ids=adapters.ids,
        lockout=lockout_of(settings),
        changes=email_changes_of(adapters, settings),
    )
    return AccountUseCases(registration=registration_of(adapters, settings, shared), accounts=accounts)


def registration_of(adapters: Adapters, settings: Settings, shared: SharedObjects) -> Registration:
    return Registration(
        adapters.database,
        adapters.passwords,
        shared.password_reader,
        shared.password_rules,
        adapters.clock,
        adapters.ids,
        RegistrationPolicy(
            default_tenant=settings.default_tenant,
            confirm_email=settings.confirm_email,
            is_open=settings.self_registration,
        ),
    )
