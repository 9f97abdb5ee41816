"""Operator's commands for accounts and keys. Every function returns the text to print."""

import secrets

from domain.errors import ValidationError
from domain.identity.users import email_key, guesses_of
from domain.scope import EveryTenant
from entrypoints.assembly.adapters import open_adapters
from entrypoints.assembly.entities import load_registry
from entrypoints.assembly.use_cases import assemble
from entrypoints.settings.settings import Settings
from entrypoints.terminal.answers import Answer


async def add_admin(settings: Settings, email: str, password: str | None) -> str:
    async with open_adapters(settings, load_registry(settings.entities)) as adapters:
        made = password or secrets.token_urlsafe(15)
        await assemble(adapters, settings).first_start.create_admin(email, made)
    # Show only a generated password. The first super-admin may use the settings' password. No full stop: users would
    # copy it.
    addition = "." if password else f", with the password {made}"
    if settings.admin_password is not None and password == settings.admin_password.reveal():
        addition = ", with the password of TENANTRY_ADMIN_PASSWORD."
    text = f"{email} is a super-admin now{addition}"
    return Answer(text, {"email": email, "generatedPassword": None if password else made})


async def unlock_email(settings: Settings, email: str) -> str:
    key = email_key(email)
    if key is None:
        raise ValidationError.on("email", "must be an e-mail address")
    registry = load_registry(settings.entities)
    async with open_adapters(settings, registry) as adapters, adapters.database.transaction(EveryTenant()) as tx:
        state, now = await tx.users.state_by_email(key), adapters.clock.now()
        # An address without an account can be locked too, but has no second factors.
        counted = [key] if state is None else [key, guesses_of(state.user.id)]
        was_locked = False
        for name in counted:
            was_locked |= await tx.attempts.locked_until(name, now) is not None  # checked before the call of unlock
            await tx.attempts.unlock(name)
    text = f"{email} is unlocked." if was_locked else f"{email} was not locked."
    return Answer(text, {"email": email, "wasLocked": was_locked})


async def rotate_keys(settings: Settings) -> str:
    async with open_adapters(settings, load_registry(settings.entities)) as adapters:
        keys = assemble(adapters, settings).signing_keys
        await keys.ensure()  # a new database has no key yet
        made = await keys.rotate()
    text = f"The key {made.kid} is published now, and signs from {made.active_from:%H:%M:%S} UTC on."
    return Answer(text, {"kid": made.kid, "activeFrom": made.active_from})


async def reseal_keys(settings: Settings) -> str:
    async with open_adapters(settings, load_registry(settings.entities)) as adapters:
        services = assemble(adapters, settings)
        done = await services.signing_keys.reseal(adapters.second_factors.secrets)
        webhooks = await services.webhook_resealing.reseal()
    sealed = (
        f"{done.keys} stored keys, {done.secrets} secrets of authenticator apps and {webhooks} of webhooks are sealed"
        " with TENANTRY_SECRET_KEY now."
    )
    data = {"keys": done.keys, "secrets": done.secrets, "webhooks": webhooks}
    if settings.other_secret_key is None:
        return Answer(sealed, data)
    return Answer(
        f"{sealed} Keep TENANTRY_OTHER_SECRET_KEY for {settings.refresh_token_days} days more, in which refresh tokens"
        " that it sealed are renewed: whoever comes later logs in again.",
        data,
    )
