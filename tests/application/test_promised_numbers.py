"""Numbers that documents, mails and messages promise: whoever changes one changes what people were told."""

from datetime import timedelta

import pytest

from application.entities.transfers import imports, transfer_slots
from application.identity.administration import (
    listing,
    mails_to_strangers,
    roles,
    security_forms,
    tenant_forms,
    tenant_settings,
    user_forms,
)
from application.identity.factors import passkeys, registering
from application.identity.hosted_login import login_codes
from application.identity.joining import own_tenants
from application.identity.login import gate
from application.identity.passwords import encrypted_passwords
from application.identity.self_service import email_changes
from application.identity.service_accounts import forms, key_authentication
from application.identity.social import social_redirect
from application.operations import mail_delivery
from application.operations import signing_keys as key_reading
from domain import limits, lockout, scope
from domain.entities import sheets
from domain.entities.files import file_headers
from domain.entities.query import comparisons, query, read_query, responses
from domain.identity import (
    domains,
    factors,
    invitations,
    redirects,
    service_accounts,
    signing_keys,
    tokens,
    typed_codes,
    users,
)
from domain.parts.joining import INVITATIONS, JOIN_REQUESTS
from domain.parts.operations import MAILS
from domain.parts.service_accounts import API_KEYS

SECOND, MINUTE, HOUR, DAY = (timedelta(**{unit: 1}) for unit in ("seconds", "minutes", "hours", "days"))

PROMISED = {
    "domains of a tenant": (domains.DOMAINS, 20),
    "pause between two looks at a verified domain": (domains.CHECKED_EVERY, DAY),
    "second factors of a person": (factors.MOST_FACTORS, 20),
    "authenticator apps of a person": (factors.MOST_TOTP, 3),
    "characters of a factor's name": (factors.FACTOR_NAME_LENGTH, 100),
    "bytes of an app's secret": (typed_codes.SECRET_BYTES, 20),
    "digits of a code": (typed_codes.DIGITS, 6),
    "seconds of a code": (typed_codes.STEP_SECONDS, 30),
    "steps that a clock may differ": (typed_codes.DRIFT, 1),
    "recovery codes": (typed_codes.CODES, 10),
    "bytes of a recovery code": (typed_codes.CODE_BYTES, 10),
    "wrong second factors until the pause, and the pause": (factors.FACTOR_GUESSES, lockout.Lockout(5, 15 * MINUTE)),
    "time in which a proof shown anew counts": (limits.REAUTHENTICATED, 10 * MINUTE),
    "pause after which failures are forgotten": (lockout.FAILURES_FORGOTTEN, 7 * DAY),
    "longest lock": (lockout.LONGEST_LOCK, DAY),
    "time in which a network that logged in is known": (lockout.NETWORK_FORGOTTEN, 90 * DAY),
    "pause between two mails with a link": (limits.LINKS_APART, 5 * MINUTE),
    "mails of each kind to an unproved address in a day": (mails_to_strangers.MAILS_TO_STRANGERS_A_DAY, 5),
    "networks that share an address's limit": (limits.NETWORKS_TOGETHER, 10),
    "life of a ticket": (gate.WAITS, 5 * MINUTE),
    "time for a passkey's ceremony": (passkeys.LIFETIME, 5 * MINUTE),
    "time to confirm a factor": (registering.LIFETIME, 10 * MINUTE),
    "bytes of a challenge and of a handle": ((passkeys.CHALLENGE_BYTES, passkeys.HANDLE_BYTES), (32, 32)),
    "invitations of a tenant in a day": (invitations.INVITATIONS_A_DAY, 200),
    "invitations of one request": (invitations.BATCH, 100),
    "mails to an address in a day": (invitations.MAILS_A_DAY, 5),
    "tenants of one's own in a day": (own_tenants.TENANTS_A_DAY, 3),
    "changes of an address in a day": (email_changes.CHANGES_A_DAY, 5),
    "time to confirm another address": (email_changes.LIFETIME, 24 * HOUR),
    "addresses of an application": (redirects.MOST_ADDRESSES, 20),
    "bytes of such an address": (redirects.LONGEST_ADDRESS, 500),
    "bytes of a state": (redirects.LONGEST_STATE, 1_000),
    "life of a one-time code": (login_codes.LIVES, MINUTE),
    "time for a login at a provider": (social_redirect.LIVES, 10 * MINUTE),
    "service accounts of a tenant": (service_accounts.ACCOUNTS_PER_TENANT, 50),
    "keys of an account": (service_accounts.KEYS_PER_ACCOUNT, 10),
    "permissions of a key": (service_accounts.PERMISSIONS_PER_KEY, 50),
    "characters of an account's name and description": ((forms.NAME_LENGTH, forms.DESCRIPTION_LENGTH), (100, 1_000)),
    "networks of a key": (service_accounts.NETWORKS_PER_KEY, 50),
    "random characters of a key": (service_accounts.SECRET_LENGTH, 32),
    "characters of its checksum": (service_accounts.CHECKSUM_LENGTH, 6),
    "characters that people recognise a key by": (service_accounts.START_LENGTH, 12),
    "notice before a key ends": (service_accounts.WARNED_BEFORE, 7 * DAY),
    "minutes that two keys overlap at most": (forms.LONGEST_OVERLAP, 7 * 24 * 60),
    "time for which a good key is remembered": (key_authentication.REMEMBERED_FOR, 10 * MINUTE),
    "time for which an unknown key is remembered": (key_authentication.ABSENT_FOR, 10 * SECOND),
    "seconds that clocks may differ": (tokens.LEEWAY, 5 * SECOND),
    "time from the notice of a new key to its use": (signing_keys.NOTICE, MINUTE),
    "time in which an old key still opens passwords": (signing_keys.OVERLAP, DAY),
    "pause between two readings of the keys": (key_reading.RELOADED_EVERY, 15 * SECOND),
    "age of an encrypted password": (encrypted_passwords.OLDEST, 120 * SECOND),
    "sessions of a person": (tokens.SESSIONS_AT_MOST, 100),
    "bytes of a token's permissions": (scope.GRANTS_BYTES, 7_800),
    "characters of a password": (users.PASSWORD_LENGTH, (8, 128)),
    "characters of an address": (users.EMAIL_LENGTH, 254),
    "characters of a name": (users.NAME_LENGTH, 200),
    "characters of a telephone number": (users.PHONE_LENGTH, 50),
    "characters of a picture's address": (user_forms.URL_LENGTH, 2_000),
    "characters of a tenant's name": (tenant_forms.NAME_LENGTH, 200),
    "characters of a tenant's domain": (tenant_forms.DOMAIN_LENGTH, 253),
    "characters of a setting": (tenant_forms.SETTING_LENGTH, 100),
    "characters of a brand and of its logo": ((tenant_settings.BRAND_LENGTH, tenant_settings.LOGO_LENGTH), (60, 2_000)),
    "days of a session that a tenant sets": (security_forms.MOST_DAYS, 3_650),
    "permissions of a role": (roles.MAX_PERMISSIONS, 500),
    "rows of a page of identity": (listing.MAX_PAGE_SIZE, 100),
    "rows of a page that names no size": (read_query.DEFAULT_PAGE_SIZE, 20),
    "rows of a page": (read_query.MAX_PAGE_SIZE, 100),
    "conditions of a query": (read_query.MAX_CONDITIONS, 30),
    "relations of conditions": (read_query.MAX_FILTERED_RELATIONS, 30),
    "values of a condition": (comparisons.MAX_VALUES, 200),
    "sort keys": (read_query.MAX_SORT_KEYS, 5),
    "words of a search": (read_query.MAX_WORDS, 30),
    "paths of include": (read_query.MAX_INCLUDES, 30),
    "mebibytes of included lists": (responses.MOST_INCLUDED, 32),
    "mebibytes of a page": (responses.LARGEST_PAGE, 32),
    "relations on a path": (query.MAX_STEPS, 3),
    "bytes of a file": (sheets.LARGEST_FILE, 52_428_800),
    "bytes of an inflated file": (sheets.LARGEST_INFLATED, 209_715_200),
    "rows of a file": (sheets.MOST_ROWS, 200_000),
    "rows of a file whose rule reads other rows": (sheets.MOST_ASKED_ROWS, 10_000),
    "columns of a file": (file_headers.MOST_COLUMNS, 1_000),
    "seconds after which a place is asked for again": (transfer_slots.RETRY_AFTER, 10),
    "errors that an import names": (sheets.MOST_ERRORS, 1_000),
    "rows of an import that renews statistics": (imports.ANALYZED_FROM, 10_000),
    "rows of a workbook": (sheets.MOST_XLSX_ROWS, 1_048_575),
    "characters of a cell": (sheets.LONGEST_XLSX_TEXT, 32_767),
    "first pause of a mail": (mail_delivery.FIRST_PAUSE, 10 * SECOND),
    "longest pause of a mail": (mail_delivery.LONGEST_PAUSE, HOUR),
    "time after which a mail is given up": (mail_delivery.GIVEN_UP_AFTER, 3 * DAY),
    "time for which a mail that was given up is kept": (MAILS.kept, 30 * DAY),
    "time for which ended keys are kept": (API_KEYS.kept, 90 * DAY),
    "time for which requests to join are kept": (JOIN_REQUESTS.kept, 90 * DAY),
    "time for which ended invitations are kept": (INVITATIONS.kept, 90 * DAY),
}


@pytest.mark.parametrize("name", PROMISED)
def test_the_number_is_the_one_that_was_promised(name: str) -> None:
    held, promised = PROMISED[name]
    assert held == promised
