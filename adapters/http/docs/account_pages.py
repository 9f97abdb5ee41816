"""Pages of the service that the links in mails lead to, for products without pages of their own."""

import html
from functools import lru_cache

from litestar.handlers import HTTPRouteHandler

from adapters.http.docs.page import ASSETS, HTML, TYPES, File, asset_handler, file_of, page_handler
from domain.errors import NotFound
from domain.identity.users import PASSWORD_LENGTH

SERVED = ("account.js", "account.css")

# the pages hold a secret in their address: nothing inline, and in no other page's frame
POLICY = (
    "default-src 'none'; "
    "script-src 'self'; "
    "style-src 'self'; "
    "img-src data:; "
    "connect-src 'self'; "
    "base-uri 'none'; "
    "form-action 'none'; "
    "frame-ancestors 'none'"
)

HEADERS = {"content-security-policy": POLICY, "referrer-policy": "no-referrer"}

CONFIRM = """<form id="act" data-post="confirm-email" data-done="Your address is confirmed: you can log in now." hidden>
<p>Please confirm that <strong id="whose"></strong> is your address.</p>
<button>Confirm</button>
</form>"""
RESET = """<form id="act" data-post="reset-password" data-done="Your password is set: you can log in now." hidden>
<label for="username">E-mail address</label>
<input id="username" type="email" autocomplete="username" readonly>
<label for="password">New password</label>
<input id="password" type="password" autocomplete="new-password" required minlength="{shortest}" maxlength="{longest}"
 aria-describedby="rules">
<p id="rules">{shortest} to {longest} characters, whichever you like.</p>
<label for="repeated">The same again</label>
<input id="repeated" type="password" autocomplete="new-password" required>
<button>Set the password</button>
</form>"""
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{heading}: {service}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="assets/account.css">
</head>
<body>
<main>
<p class="name">{service}</p>
<h1>{heading}</h1>
<p id="told" role="status" tabindex="-1"></p>
{form}
<form id="again" data-post="{again}" data-done="If the address is known here, a mail is on its way." hidden>
<p>A link works once, and only for a while. A new one can be sent to you.</p>
<label for="email">E-mail address</label>
<input id="email" type="email" autocomplete="email" required>
<button>Send me a new mail</button>
</form>
<noscript><p>This page needs JavaScript.</p></noscript>
</main>
<script src="assets/account.js"></script>
</body>
</html>
"""


@lru_cache
def _asset(name: str) -> File:
    if name not in SERVED:
        raise NotFound
    path = ASSETS / name
    return file_of(path.read_bytes(), TYPES[path.suffix])


def _page(service: str, heading: str, form: str, again: str) -> File:
    shortest, longest = PASSWORD_LENGTH
    text = PAGE.format(
        service=html.escape(service),
        heading=heading,
        form=form.format(shortest=shortest, longest=longest),
        again=again,
    )
    return file_of(text.encode(), HTML, HEADERS)


def account_handlers(service: str) -> list[HTTPRouteHandler]:
    confirm = _page(service, "Confirm your e-mail address", CONFIRM, "resend-confirmation")
    reset = _page(service, "Set a new password", RESET, "request-password-reset")
    return [
        page_handler("/account/confirm", "account.confirm", confirm),
        page_handler("/account/reset", "account.reset", reset),
        asset_handler("/account/assets/{name:str}", "account.asset", _asset),
    ]
