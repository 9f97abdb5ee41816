"""Settings, read once at startup from the environment and two files. One error reports all invalid settings."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from domain.identity.passwords import password_errors
from entrypoints.settings.clusters import mistakes_of_cluster
from entrypoints.settings.files import FileSettings, read_files, read_secret_file
from entrypoints.settings.variables import (
    API_KEY_PREFIX,
    BASE_URL,
    DOCS_ROOT,
    EMAIL,
    FILES_SECRET,
    FILES_URL,
    FLAG,
    FOLDER,
    FUNCTION,
    HOST,
    HOSTS,
    IDENTIFIER,
    KEY_PREFIX,
    MODULES,
    NETWORKS,
    ORIGINS,
    PAGE_URL,
    PASSKEY_ORIGINS,
    PASSWORD,
    REDIS_URL,
    REPLICAS,
    SECRET,
    SECRET_KEY,
    SENDER,
    SMTP_URL,
    SWITCH,
    TEXT,
    Network,
    Refused,
    Secret,
    Variable,
    number,
    one_of,
    secret_url,
    url,
)

PREFIX = "TENANTRY_"
PROVIDERS = ("google", "microsoft", "github", "facebook")
NEED_SECRET = ("github", "facebook")  # providers that need our client secret for token checks


class SocialProvider(Struct, frozen=True, kw_only=True):
    """Registration with a provider. ``base_url`` replaces its hosts, such as by a test double."""

    client_id: str
    client_secret: Secret | None
    base_url: str | None


class Settings(Struct, frozen=True, kw_only=True):
    """Settings by name: ``TENANTRY_PORT`` is the field ``port``. Each field's declaration has the accepted values."""

    host: Annotated[str, HOST] = "127.0.0.1"
    port: Annotated[int, number(1, 65_535)] = 8000
    workers: Annotated[int, number(1, 256)] = 1
    base_url: Annotated[str, BASE_URL] = ""
    data_dir: Annotated[Path, FOLDER] = Path(".data")
    database_url: Annotated[Secret | None, secret_url("postgresql", "postgres")] = None
    database_owner_url: Annotated[Secret | None, secret_url("postgresql", "postgres")] = None
    database_replica_urls: Annotated[tuple[Secret, ...], REPLICAS] = ()
    database_pooler: Annotated[Literal["none", "session", "transaction"], one_of("none", "session", "transaction")] = (
        "none"
    )
    database_kind: Annotated[Literal["server", "citus"], one_of("server", "citus")] = "server"
    database_connections: Annotated[int, number(2, 1_000)] = 20
    redis_url: Annotated[Secret | None, REDIS_URL] = None
    redis_prefix: Annotated[str, KEY_PREFIX] = "tenantry"
    migrate: Annotated[bool, SWITCH] = True
    admin_email: Annotated[str, EMAIL] = "admin@example.com"
    admin_password: Annotated[Secret | None, PASSWORD] = None
    entities: Annotated[tuple[str, ...], MODULES] = ("tenantry.catalogue",)
    console: Annotated[bool, SWITCH] = True
    docs_root: Annotated[str, DOCS_ROOT] = "docs"
    docs_title: Annotated[str, TEXT] = "Tenantry"
    docs_version: Annotated[str, TEXT] = "v1"
    docs_description: Annotated[str, TEXT] = "Identity for many tenants, and a whole API for every entity."
    docs_contact_name: Annotated[str | None, TEXT] = None
    docs_contact_email: Annotated[str | None, EMAIL] = None
    docs_contact_url: Annotated[str | None, url("http", "https")] = None
    docs_license_url: Annotated[str | None, url("http", "https")] = None
    access_token_minutes: Annotated[int, number(1, 1_440)] = 60
    global_token_minutes: Annotated[int, number(1, 60)] = 2
    refresh_token_days: Annotated[int, number(1, 3_650)] = 7
    session_days: Annotated[int, number(1, 3_650)] = 30
    drain_seconds: Annotated[int, number(0, 600)] = 0
    refresh_grace_seconds: Annotated[int, number(0, 3_600)] = 30
    strict_password_encryption: Annotated[bool, FLAG] = False
    default_tenant: Annotated[str | None, IDENTIFIER] = None
    confirm_email: Annotated[bool, FLAG] = True
    password_max_age_days: Annotated[int, number(0, 36_500)] = 0
    breached_passwords: Annotated[str | None, FUNCTION] = None
    audit_retention_days: Annotated[int, number(0, 36_500)] = 0
    history_retention_days: Annotated[int, number(0, 36_500)] = 0
    changes_days: Annotated[int, number(1, 90)] = 7
    changes_streams: Annotated[int, number(1, 100_000)] = 1_000
    files_url: Annotated[str, FILES_URL] = ""
    files_key_id: Annotated[str | None, TEXT] = None
    files_secret: Annotated[Secret | None, FILES_SECRET] = None
    files_downloads: Annotated[Literal["stream", "redirect"], one_of("stream", "redirect")] = "stream"
    files_max_bytes: Annotated[int, number(1, 2**40)] = 104_857_600
    files_tenant_bytes: Annotated[int, number(0, 2**62)] = 0
    files_kept_days: Annotated[int, number(1, 3_650)] = 7
    files_base_url: Annotated[str, BASE_URL] = ""
    files_scanner: Annotated[str | None, FUNCTION] = None
    lockout_attempts: Annotated[int, number(1, 1_000)] = 5
    lockout_minutes: Annotated[int, number(1, 525_600)] = 15
    reauth_minutes: Annotated[int, number(1, 1_440)] = 10
    require_mfa_for: Annotated[Literal["none", "super-admins", "all"], one_of("none", "super-admins", "all")] = "none"
    totp_issuer: Annotated[str, TEXT] = ""
    passkey_rp_id: Annotated[str, HOST] = ""
    passkey_origins: Annotated[tuple[str, ...], PASSKEY_ORIGINS] = ()
    api_key_prefix: Annotated[str, API_KEY_PREFIX] = "tnt"
    api_key_max_days: Annotated[int, number(0, 3_650)] = 0
    service_token_minutes: Annotated[int, number(1, 1_440)] = 60
    rate_limits: Annotated[Literal["on", "count", "off"], one_of("on", "count", "off")] = "on"
    secret_key: Annotated[Secret | None, SECRET_KEY] = None
    other_secret_key: Annotated[Secret | None, SECRET_KEY] = None
    metrics_token: Annotated[Secret | None, SECRET] = None
    server_timing: Annotated[bool, SWITCH] = False
    trusted_proxies: Annotated[tuple[Network, ...], NETWORKS] = ()
    cors_origins: Annotated[tuple[str, ...], ORIGINS] = ()
    allowed_hosts: Annotated[tuple[str, ...], HOSTS] = ()
    webhook_networks: Annotated[tuple[Network, ...], NETWORKS] = ()
    compression: Annotated[Literal["off", "gzip"], one_of("off", "gzip")] = "off"
    smtp_url: Annotated[Secret | None, SMTP_URL] = None
    mail_from: Annotated[str, SENDER] = "no-reply@localhost"
    confirm_url: Annotated[str, PAGE_URL] = ""
    reset_url: Annotated[str, PAGE_URL] = ""
    invitation_url: Annotated[str, PAGE_URL] = ""
    invitation_days: Annotated[int, number(1, 365)] = 7
    self_registration: Annotated[bool, SWITCH] = True
    self_service_tenants: Annotated[bool, SWITCH] = False
    social: Mapping[str, SocialProvider] = {}
    require_registered_app: Annotated[bool, FLAG] = False
    log_level: Annotated[str, one_of("debug", "info", "warning", "error", "critical")] = "info"
    log_format: Annotated[Literal["auto", "console", "json"], one_of("auto", "console", "json")] = "auto"

    @property
    def owner_url(self) -> str:
        """URL of the tables' owner, for migrations and vacuum; else the URL of the service."""
        url = self.database_owner_url or self.database_url
        assert url is not None
        return url.reveal()


class SettingsError(Exception):
    """Invalid settings; the message has a line for every error."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("The settings cannot be used:\n" + "\n".join(f"  - {mistake}" for mistake in mistakes))


def _marked(hint: Any) -> Variable[Any] | None:
    return get_args(hint)[1] if get_origin(hint) is Annotated else None


_OWN = {
    name.upper(): variable
    for name, hint in get_type_hints(Settings, include_extras=True).items()
    if (variable := _marked(hint)) is not None
}
_SOCIAL = {
    f"SOCIAL_{provider.upper()}_{what}": variable
    for provider in PROVIDERS
    for what, variable in (("CLIENT_ID", TEXT), ("CLIENT_SECRET", SECRET), ("BASE_URL", BASE_URL))
}
VARIABLES: Mapping[str, Variable[Any]] = {**_OWN, **_SOCIAL}
"""Variables by name, without the prefix."""

SECRETS = frozenset(name for name, variable in VARIABLES.items() if variable.secret)
IN_FILES = {f"{name}_FILE": name for name in SECRETS}
"""Variables for a secret's file, as mounted by Docker and Kubernetes, by the variable of the secret."""


def read_settings(environment: Mapping[str, str], folder: Path | None = None) -> Settings:
    """Read settings from an environment and from files in ``folder``; the environment has priority.

    An empty variable counts as unset. Raises SettingsError.
    """
    files = FileSettings() if folder is None else read_files(folder, PREFIX, {*VARIABLES, *IN_FILES}, SECRETS)
    set_here = {name: value for name, value in environment.items() if value.strip()}
    try:
        return _read_variables({**files.values, **set_here}, files.mistakes)
    except SettingsError as error:
        raise SettingsError(sorted(_with_origin(mistake, files, set_here) for mistake in error.mistakes)) from None


def _with_origin(mistake: str, files: FileSettings, environment: Mapping[str, str]) -> str:
    """``tenantry.toml: TENANTRY_PORT got 'x'; …`` if a file set the variable."""
    name = mistake.partition(" ")[0]
    return f"{files.origins[name]}: {mistake}" if name in files.origins and name not in environment else mistake


def _read_variables(environment: Mapping[str, str], earlier: Sequence[str]) -> Settings:
    given = {
        name.removeprefix(PREFIX): value
        for name, value in environment.items()
        # Ignore TENANTRY_TEST_…: the test suite uses these variables, and starts services in its environment.
        if name.startswith(PREFIX) and not name.startswith(f"{PREFIX}TEST_") and value.strip()
    }
    mistakes = list(earlier)
    given |= _from_files(given, mistakes)
    # Report unknown variables, because a misspelt name would leave its setting at the default without a message.
    mistakes += [_unknown(name) for name in given if name not in VARIABLES and name not in IN_FILES]
    values: dict[str, Any] = {}
    for name in VARIABLES.keys() & given.keys():
        try:
            values[name] = _read(VARIABLES[name], given[name])
        except ValueError as error:
            mistakes.append(_wrong(name, given[name], f" {error}" if isinstance(error, Refused) else ""))
    mistakes += _broken_rules(values, given)
    if mistakes:
        raise SettingsError(sorted(mistakes))
    return _settings(values)


def _from_files(given: Mapping[str, str], mistakes: list[str]) -> dict[str, str]:
    """Read secrets from files. Report variables set in both ways."""
    found: dict[str, str] = {}
    for name in IN_FILES.keys() & given.keys():
        if IN_FILES[name] in given:
            mistakes.append(f"{PREFIX}{name} is set beside {PREFIX}{IN_FILES[name]}: set one of them.")
        elif (text := read_secret_file(f"{PREFIX}{name}", Path(given[name].strip()), mistakes)) is not None:
            found[IN_FILES[name]] = text
    return found


def _read(variable: Variable[Any], text: str) -> Any:
    # A secret may end with a blank.
    return variable.read(text if variable.secret else text.strip())


def _wrong(name: str, text: str, reason: str) -> str:
    variable = VARIABLES[name]
    got = _masked(text) if variable.secret else repr(text)
    return f"{PREFIX}{name} got {got}{reason}; it must be {variable.takes}."


def _masked(text: str) -> str:
    # Show the scheme of a secret URL: it is not a secret, and it reveals most errors.
    scheme = re.match(r"[a-z][a-z0-9+]{0,20}://", text)
    return f"'{scheme[0]}…' (not shown)" if scheme else f"{len(text)} characters (not shown)"


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, [*VARIABLES, *IN_FILES], n=1)
    hint = f"; did you mean {PREFIX}{near[0]}?" if near else "."
    return f"{PREFIX}{name} is not a setting{hint}"


def _broken_rules(values: Mapping[str, Any], given: Mapping[str, str]) -> Iterator[str]:
    # Without an embedded database, the key must be set: replicas of the service share a database, but not the DATA_DIR
    # with the key.
    if "DATABASE_URL" in given and not {"SECRET_KEY", "SECRET_KEY_FILE"} & given.keys():
        yield (
            f"{PREFIX}SECRET_KEY is not set; it must be {SECRET_KEY.takes}, the same on all replicas, "
            f"and must be given when {PREFIX}DATABASE_URL is."
        )
    if "DATABASE_OWNER_URL" in given and "DATABASE_URL" not in given:
        yield f"{PREFIX}DATABASE_OWNER_URL is set without {PREFIX}DATABASE_URL; the embedded server has its owner."
    if {"DATABASE_REPLICA_URLS", "DATABASE_REPLICA_URLS_FILE"} & given.keys() and "DATABASE_URL" not in given:
        yield f"{PREFIX}DATABASE_REPLICA_URLS is set without {PREFIX}DATABASE_URL, the server that they replicate."
    if (
        values.get("DATABASE_POOLER") == "transaction"
        and not {"DATABASE_OWNER_URL", "DATABASE_OWNER_URL_FILE"} & given.keys()
    ):
        yield (
            f"{PREFIX}DATABASE_OWNER_URL is not set; with {PREFIX}DATABASE_POOLER=transaction it takes the owner's URL"
            " without the pooler, for migrations."
        )
    yield from mistakes_of_cluster(values, given, PREFIX)
    for provider in PROVIDERS:
        yield from _social_mistakes(f"SOCIAL_{provider.upper()}", given, provider in NEED_SECRET)
    yield from _password_mistakes(values)


def _social_mistakes(name: str, given: Mapping[str, str], needs_secret: bool) -> Iterator[str]:
    has_id, has_secret = f"{name}_CLIENT_ID" in given, f"{name}_CLIENT_SECRET" in given
    if not has_id and (has_secret or f"{name}_BASE_URL" in given):
        yield f"{PREFIX}{name}_CLIENT_ID is not set; it must be the id that turns the provider on."
    if has_id and needs_secret and not has_secret:
        yield f"{PREFIX}{name}_CLIENT_SECRET is not set; it must be the secret that belongs to the client id."


def _password_mistakes(values: Mapping[str, Any]) -> Iterator[str]:
    if "ADMIN_PASSWORD" not in values:
        return
    email = values.get("ADMIN_EMAIL", Settings().admin_email)
    errors = password_errors(values["ADMIN_PASSWORD"].reveal(), email=email, full_name="", field="", words=())
    yield from (f"{PREFIX}ADMIN_PASSWORD {error.message}." for error in errors)


def _settings(values: Mapping[str, Any]) -> Settings:
    own = {name.lower(): value for name, value in values.items() if name in _OWN}
    settings = Settings(**own, social=_providers(values))
    base_url = settings.base_url or f"http://{host_and_port(settings.host, settings.port)}"
    return replace(
        settings,
        base_url=base_url,
        confirm_url=settings.confirm_url or f"{base_url}/account/confirm",
        reset_url=settings.reset_url or f"{base_url}/account/reset",
        totp_issuer=settings.totp_issuer or settings.docs_title,
        passkey_rp_id=settings.passkey_rp_id or relying_party(base_url)[0],
        passkey_origins=settings.passkey_origins or relying_party(base_url)[1],
        invitation_url=settings.invitation_url or f"{base_url}/account/invitation",
    )


def _providers(values: Mapping[str, Any]) -> dict[str, SocialProvider]:
    return {
        provider: SocialProvider(
            client_id=values[f"SOCIAL_{provider.upper()}_CLIENT_ID"],
            client_secret=values.get(f"SOCIAL_{provider.upper()}_CLIENT_SECRET"),
            base_url=values.get(f"SOCIAL_{provider.upper()}_BASE_URL"),
        )
        for provider in PROVIDERS
        if f"SOCIAL_{provider.upper()}_CLIENT_ID" in values
    }


def relying_party(base_url: str) -> tuple[str, tuple[str, ...]]:
    """Return host and origins of passkeys; ``localhost`` replaces an IP address, which cannot be a relying party."""
    parts = urlsplit(base_url)
    host, origin = parts.hostname or "", f"{parts.scheme}://{parts.netloc}"
    if not re.fullmatch(r"[0-9.]+|.*:.*", host):
        return host, (origin,)
    port = f":{parts.port}" if parts.port else ""
    return "localhost", (origin, f"{parts.scheme}://localhost{port}")


def host_and_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
