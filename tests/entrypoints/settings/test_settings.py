"""Every variable: what it is when unset, what it takes, and that a wrong value is named."""

import secrets
from ipaddress import ip_network
from pathlib import Path
from uuid import uuid4

import pytest

from entrypoints.settings.settings import VARIABLES, SettingsError, read_settings, relying_party
from entrypoints.settings.variables import Secret
from tests.entrypoints.settings.file_settings import FILES

KEY = "4uQ9-xT7_bZ2mK8sW5pJ1cV6nR3yL0hD"
SOCIAL = {"SOCIAL_GOOGLE_CLIENT_ID": "id"}

CASES: list[tuple[str, object, str, object, str | None]] = [
    # variable, default, a good value, what it is read as, a bad one
    ("HOST", "127.0.0.1", "0.0.0.0", "0.0.0.0", "http://here"),
    ("PORT", 8000, "9000", 9000, "eighty"),
    ("PORT", 8000, "09000", 9000, "1e3"),
    ("PORT", 8000, "65535", 65535, "8000.0"),
    ("PORT", 8000, "1", 1, "8_000"),
    ("WORKERS", 1, "4", 4, "0"),
    ("BASE_URL", "http://127.0.0.1:8000", "https://api.example.com/", "https://api.example.com", "api.example.com"),
    ("DATA_DIR", Path(".data"), "/var/lib/tenantry", Path("/var/lib/tenantry"), "~nobodyxyz/x"),
    ("DATABASE_URL", None, "postgresql://u:p@h/d", Secret("postgresql://u:p@h/d"), "mysql://u:p@h/d"),
    ("DATABASE_OWNER_URL", None, "postgres://o:p@h/d", Secret("postgres://o:p@h/d"), "redis://h"),
    (
        "DATABASE_REPLICA_URLS",
        (),
        "postgresql://h/d, postgres://i/d",
        (Secret("postgresql://h/d"), Secret("postgres://i/d")),
        "postgresql://h/d,i",
    ),
    ("DATABASE_POOLER", "none", "Session", "session", "statement"),
    ("DATABASE_KIND", "server", "Server", "server", "cluster"),
    ("DATABASE_CONNECTIONS", 20, "40", 40, "1"),
    ("REDIS_URL", None, "rediss://h:6380/1", Secret("rediss://h:6380/1"), "h:6379"),
    (
        "REDIS_URL",
        None,
        "redis+sentinel://:p@h,h2:26380/main/1",
        Secret("redis+sentinel://:p@h,h2:26380/main/1"),
        "redis+sentinel://h,h2",
    ),
    ("REDIS_URL", None, "rediss+cluster://h,h2", Secret("rediss+cluster://h,h2"), "redis+cluster://h,h2/1"),
    ("REDIS_PREFIX", "tenantry", "shop.test", "shop.test", "{shop}"),
    ("MIGRATE", True, "off", False, "perhaps"),
    ("ADMIN_EMAIL", "admin@example.com", "root@example.org", "root@example.org", "root"),
    ("ADMIN_PASSWORD", None, "correct horse", Secret("correct horse"), "short"),
    ("ENTITIES", ("tenantry.catalogue",), "shop.books, films.py", ("shop.books", "films.py"), ","),
    ("CONSOLE", True, "off", False, "perhaps"),
    ("DOCS_ROOT", "docs", "reference", "reference", "api"),
    ("DOCS_TITLE", "Tenantry", "Shop", "Shop", None),
    ("DOCS_VERSION", "v1", "v2", "v2", None),
    (
        "DOCS_DESCRIPTION",
        "Identity for many tenants, and a whole API for every entity.",
        "Ours",
        "Ours",
        None,
    ),
    ("DOCS_CONTACT_NAME", None, "Ada", "Ada", None),
    ("DOCS_CONTACT_EMAIL", None, "ada@example.com", "ada@example.com", "ada"),
    ("DOCS_CONTACT_URL", None, "https://example.com/ada", "https://example.com/ada", "ada"),
    ("DOCS_LICENSE_URL", None, "https://example.com/mit", "https://example.com/mit", "mit"),
    ("ACCESS_TOKEN_MINUTES", 60, "5", 5, "0"),
    ("GLOBAL_TOKEN_MINUTES", 2, "3", 3, "-1"),
    ("REFRESH_TOKEN_DAYS", 7, "14", 14, "1.5"),
    ("SESSION_DAYS", 30, "90", 90, "forever"),
    ("DRAIN_SECONDS", 0, "10", 10, "601"),
    ("REFRESH_GRACE_SECONDS", 30, "0", 0, "-1"),
    ("STRICT_PASSWORD_ENCRYPTION", False, "true", True, "2"),
    ("DEFAULT_TENANT", None, "acme", "acme", "ACME Ltd"),
    ("CONFIRM_EMAIL", True, "False", False, "never"),
    ("PASSWORD_MAX_AGE_DAYS", 0, "365", 365, "a year"),
    ("BREACHED_PASSWORDS", None, "shop.py:is_breached", "shop.py:is_breached", "shop.py"),
    ("AUDIT_RETENTION_DAYS", 0, "365", 365, "a year"),
    ("HISTORY_RETENTION_DAYS", 0, "730", 730, "-1"),
    *FILES,
    ("LOCKOUT_ATTEMPTS", 5, "3", 3, "0"),
    ("LOCKOUT_MINUTES", 15, "60", 60, "٣"),
    ("RATE_LIMITS", "on", "COUNT", "count", "some"),
    ("SECRET_KEY", None, KEY, Secret(KEY), "too short"),
    ("OTHER_SECRET_KEY", None, KEY, Secret(KEY), "k" * 64),
    ("METRICS_TOKEN", None, "abc", Secret("abc"), "a b"),
    ("SERVER_TIMING", False, "on", True, "sometimes"),
    (
        "CORS_ORIGINS",
        (),
        "https://a.example, http://b:8080",
        ("https://a.example", "http://b:8080"),
        "https://a.example/path",
    ),
    ("ALLOWED_HOSTS", (), "a.example,*.b.example", ("a.example", "*.b.example"), "https://a.example"),
    ("COMPRESSION", "off", "GZIP", "gzip", "brotli"),
    ("TRUSTED_PROXIES", (), "10.0.0.0/8, ::1", (ip_network("10.0.0.0/8"), ip_network("::1")), "::1,everybody"),
    (
        "CORS_ORIGINS",
        (),
        "https://App.example, http://localhost:5173/",
        ("https://app.example", "http://localhost:5173"),
        "https://app.example/page",
    ),
    ("SMTP_URL", None, "smtp://u:p@mail:587?starttls=true", Secret("smtp://u:p@mail:587?starttls=true"), "mail:25"),
    ("MAIL_FROM", "no-reply@localhost", "Shop <shop@example.com>", "Shop <shop@example.com>", "shop"),
    ("CONFIRM_URL", "http://127.0.0.1:8000/account/confirm", "https://app.example/c", "https://app.example/c", "/c"),
    (
        "INVITATION_URL",
        "http://127.0.0.1:8000/account/invitation",
        "https://app.example/i",
        "https://app.example/i",
        "/i",
    ),
    ("INVITATION_DAYS", 7, "30", 30, "0"),
    ("SELF_REGISTRATION", True, "off", False, "maybe"),
    ("SELF_SERVICE_TENANTS", False, "on", True, "maybe"),
    ("RESET_URL", "http://127.0.0.1:8000/account/reset", "https://app.example/r", "https://app.example/r", "/r"),
    ("REAUTH_MINUTES", 10, "5", 5, "0"),
    ("REQUIRE_MFA_FOR", "none", "Super-Admins", "super-admins", "some"),
    ("TOTP_ISSUER", "Tenantry", "Shop", "Shop", None),
    ("PASSKEY_RP_ID", relying_party("http://127.0.0.1:8000")[0], "example.com", "example.com", "a b"),
    (
        "PASSKEY_ORIGINS",
        relying_party("http://127.0.0.1:8000")[1],
        "https://app.example, https://b.example",
        ("https://app.example", "https://b.example"),
        "app.example",
    ),
    ("API_KEY_PREFIX", "tnt", "acme2", "acme2", "Acme_"),
    ("API_KEY_MAX_DAYS", 0, "90", 90, "-1"),
    ("SERVICE_TOKEN_MINUTES", 60, "15", 15, "0"),
    ("REQUIRE_REGISTERED_APP", False, "yes", True, "maybe"),
    ("LOG_LEVEL", "info", "Warning", "warning", "loud"),
    ("LOG_FORMAT", "auto", "json", "json", "xml"),
]
NAMES = [case[0] for case in CASES]


def given(**variables: str) -> dict[str, str]:
    """With what a DATABASE_URL and those that need one ask for beside them."""
    needs_url = {"DATABASE_OWNER_URL", "DATABASE_REPLICA_URLS"} & variables.keys()
    beside = {"SECRET_KEY": KEY} | ({"DATABASE_URL": "postgresql://h/d"} if needs_url else {})
    return {f"TENANTRY_{name}": value for name, value in {**beside, **variables}.items()}


def mistakes(environment: dict[str, str]) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        read_settings(environment)
    return caught.value.mistakes


def test_this_table_has_every_variable() -> None:
    assert set(NAMES) == {name for name in VARIABLES if not name.startswith("SOCIAL_")}


@pytest.mark.parametrize(("name", "default"), [case[:2] for case in CASES], ids=NAMES)
def test_an_unset_or_empty_variable_is_its_default(name: str, default: object) -> None:
    assert getattr(read_settings({}), name.lower()) == default
    assert getattr(read_settings({f"TENANTRY_{name}": " "}), name.lower()) == default


@pytest.mark.parametrize(("name", "good", "read"), [(case[0], *case[2:4]) for case in CASES], ids=NAMES)
def test_a_good_value_is_read(name: str, good: str, read: object) -> None:
    assert getattr(read_settings(given(**{name: good})), name.lower()) == read


@pytest.mark.parametrize(("name", "bad"), [(case[0], case[4]) for case in CASES if case[4]])
def test_a_bad_value_is_reported_with_the_given_and_the_accepted_value(name: str, bad: str) -> None:
    (mistake,) = mistakes(given(**{name: bad}))
    assert mistake.startswith(f"TENANTRY_{name} got ")
    assert "it must be " in mistake
    if VARIABLES[name].secret:
        assert bad not in mistake
    else:
        assert repr(bad) in mistake


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        *[
            ("CORS_ORIGINS", bad)
            for bad in ("app.example", "https://a.example?b", "https://u@a.example", "ftp://a", ",")
        ],
        *[("ALLOWED_HOSTS", bad) for bad in ("*", "a.*", "a..b", "a:80", "a b", ",")],
        *[("PORT", bad) for bad in ("8000 0", "1_000", "65536", "9" * 30)],
        *[("DOCS_ROOT", bad) for bad in ("metrics", "a/b", "-a", "a\n-")],
        *[("REDIS_PREFIX", bad) for bad in (".a", "A", "a" * 64)],
        *[("HOST", bad) for bad in ("a b", "a/b", "a..b")],
        *[("DATABASE_URL", f"postgresql://u@{bad}/d") for bad in ("a..b", "a" * 64)],
        ("SMTP_URL", "smtp://a..b:25"),
        *[("FILES_URL", bad) for bad in ("s3://key:secret@photos", "s3://photos?secret=a", "https://photos", "s3:")],
        ("ADMIN_PASSWORD", "a" * 129),
        ("DATA_DIR", "a\0"),
    ],
)
def test_these_are_refused_too(name: str, bad: str) -> None:
    assert any(mistake.startswith(f"TENANTRY_{name} got ") for mistake in mistakes(given(**{name: bad})))


@pytest.mark.parametrize(
    ("name", "good", "read"),
    [
        ("CORS_ORIGINS", "*", ("*",)),
        ("CORS_ORIGINS", "https://[::1]:8443", ("https://[::1]:8443",)),
        ("ALLOWED_HOSTS", "localhost", ("localhost",)),
        ("DOCS_ROOT", "apis", "apis"),
        ("HOST", "::1", "::1"),
        ("DATA_DIR", "~/data", Path.home() / "data"),
    ],
)
def test_these_are_taken_too(name: str, good: str, read: object) -> None:
    assert getattr(read_settings(given(**{name: good})), name.lower()) == read


def test_all_errors_in_settings_are_reported_at_once() -> None:
    told = mistakes(given(PORT="x", WORKERS="x", LOG_LEVEL="x", PROT="1"))
    assert [mistake.split()[0] for mistake in told] == [
        "TENANTRY_LOG_LEVEL",
        "TENANTRY_PORT",
        "TENANTRY_PROT",
        "TENANTRY_WORKERS",
    ]


def test_an_unknown_variable_is_refused_with_the_nearest_name() -> None:
    (mistake,) = mistakes({"TENANTRY_DATABSE_URL": "postgresql://h/d"})
    assert "did you mean TENANTRY_DATABASE_URL?" in mistake


@pytest.mark.parametrize("name", ["TENANTRY_TEST_DATABASE_URL", "PORT", "HOME"])
def test_variables_of_tests_and_of_other_programs_are_ignored(name: str) -> None:
    assert read_settings({name: "anything"}) == read_settings({})


def test_a_database_url_asks_for_a_secret_key() -> None:
    (mistake,) = mistakes({"TENANTRY_DATABASE_URL": "postgresql://h/d"})
    assert mistake.startswith("TENANTRY_SECRET_KEY is not set")


def test_a_guessable_admin_password_is_refused_without_being_shown() -> None:
    (mistake,) = mistakes({"TENANTRY_ADMIN_PASSWORD": "password123"})
    assert mistake.startswith("TENANTRY_ADMIN_PASSWORD is among")
    assert "password123" not in mistake


def test_links_are_built_from_where_it_listens_or_from_the_base_url() -> None:
    assert read_settings(given(HOST="::1", PORT="80")).base_url == "http://[::1]:80"
    assert read_settings(given(BASE_URL="https://a.example")).reset_url == "https://a.example/account/reset"


@pytest.mark.parametrize("provider", ["google", "microsoft", "github", "facebook"])
def test_a_client_id_turns_a_social_provider_on(provider: str) -> None:
    assert read_settings({}).social == {}
    name = f"SOCIAL_{provider.upper()}"
    urls = {f"{name}_BASE_URL": "http://127.0.0.1:9/"}
    settings = read_settings(given(**{f"{name}_CLIENT_ID": "id", f"{name}_CLIENT_SECRET": "secret"}, **urls))
    assert settings.social[provider].client_id == "id"
    assert settings.social[provider].base_url == "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("variables", "missing"),
    [
        ({"SOCIAL_GITHUB_CLIENT_ID": "id"}, "TENANTRY_SOCIAL_GITHUB_CLIENT_SECRET"),
        ({"SOCIAL_GOOGLE_CLIENT_SECRET": "s"}, "TENANTRY_SOCIAL_GOOGLE_CLIENT_ID"),
        ({"SOCIAL_GOOGLE_BASE_URL": "http://h"}, "TENANTRY_SOCIAL_GOOGLE_CLIENT_ID"),
    ],
)
def test_a_social_provider_is_whole_or_off(variables: dict[str, str], missing: str) -> None:
    (mistake,) = mistakes(given(**variables))
    assert mistake.startswith(f"{missing} is not set")


GUESSABLE = [
    *((key, "that repeat the same text") for key in ("k" * 64, "abc" * 12, "0123456789" * 4, "correct-horse-" * 3)),
    *((f"{part * 4}{part[:cut]}", "that repeat the same text") for part in ("Qx7!mPz2-", "h4Kd09sQ") for cut in (1, 4)),
    ("abcdefghijklmnopqrstuvwxyz0123456789", "most of which follow their neighbour, as in abcdef or aaaa"),
    ("ab" * 15 + "ba", "most of which follow their neighbour, as in abcdef or aaaa"),
    ("acca" * 4 + "caca" * 4 + "c", "of which too few are different"),
]


@pytest.mark.promise("security, secrets: a secret key of little chance is refused")
@pytest.mark.parametrize(("key", "reason"), GUESSABLE)
def test_a_secret_key_of_little_chance_is_refused_with_the_reason_and_not_shown(key: str, reason: str) -> None:
    (mistake,) = mistakes({"TENANTRY_SECRET_KEY": key})
    assert mistake.startswith(f"TENANTRY_SECRET_KEY got {len(key)} characters (not shown) {reason}; it must be 32 ")


@pytest.mark.promise("security, secrets: a secret key of little chance is refused")
def test_keys_of_chance_are_taken() -> None:
    for made in (
        *(secrets.token_hex(16) for _ in range(200)),
        secrets.token_urlsafe(24),
        str(uuid4()),
        "9" + str(2**127),
        "Qx7!mPz2-Qx7!mPz2-4uQ9xT7bZ2mK8sW5",
    ):
        assert read_settings({"TENANTRY_SECRET_KEY": made}).secret_key == Secret(made)


def test_a_database_may_have_several_hosts() -> None:
    url = "postgresql://u:p,q@db1:5432,db2:5432/d?target_session_attrs=primary"
    assert read_settings(given(DATABASE_URL=url)).database_url == Secret(url)
    (mistake,) = mistakes(given(DATABASE_URL="postgresql://u@db1:x,db2/d"))
    assert mistake.startswith("TENANTRY_DATABASE_URL got 'postgresql://…'")


def test_a_transaction_pooler_requires_a_separate_owner_url() -> None:
    (mistake,) = mistakes(given(DATABASE_URL="postgresql://h/d", DATABASE_POOLER="transaction"))
    assert mistake.startswith("TENANTRY_DATABASE_OWNER_URL is not set")
    owner = {"DATABASE_OWNER_URL": "postgresql://o@h/d"}
    assert read_settings(given(DATABASE_POOLER="transaction", **owner)).database_pooler == "transaction"


def test_replicas_belong_to_a_database_that_is_named() -> None:
    (mistake,) = mistakes({"TENANTRY_DATABASE_REPLICA_URLS": "postgresql://h/d"})
    assert mistake.startswith("TENANTRY_DATABASE_REPLICA_URLS is set without TENANTRY_DATABASE_URL")


def test_an_owner_belongs_to_a_database_that_is_named() -> None:
    (mistake,) = mistakes({"TENANTRY_DATABASE_OWNER_URL": "postgresql://h/d"})
    assert mistake.startswith("TENANTRY_DATABASE_OWNER_URL is set without TENANTRY_DATABASE_URL")
    settings = read_settings(given(DATABASE_OWNER_URL="postgresql://owner@h/d"))
    assert settings.owner_url == "postgresql://owner@h/d"
    assert read_settings(given(DATABASE_URL="postgresql://service@h/d")).owner_url == "postgresql://service@h/d"


def test_no_secret_is_ever_shown() -> None:
    hidden = {
        "DATABASE_URL": "postgresql://u:hidden@h/d",
        "REDIS_URL": "redis://:hidden@h",
        "SECRET_KEY": "hidden-4uQ9-xT7_bZ2mK8sW5pJ1cV6nR",
        "ADMIN_PASSWORD": "hidden horse",
        "METRICS_TOKEN": "hidden",
        "FILES_SECRET": "hidden",
        "SMTP_URL": "smtp://u:hidden@h",
        "SOCIAL_GITHUB_CLIENT_ID": "id",
        "SOCIAL_GITHUB_CLIENT_SECRET": "hidden",
    }
    settings = read_settings(given(**hidden))
    assert "hidden" not in f"{settings!r} {settings}"
    assert settings.database_url is not None
    assert settings.database_url.reveal() == hidden["DATABASE_URL"]
