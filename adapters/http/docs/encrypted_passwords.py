"""The page that shows how a browser encrypts a password, by doing it."""

import html

from litestar.handlers import HTTPRouteHandler

from adapters.http.docs.page import ASSETS, HTML, POLICY, About, File, file_of, page_handler

SCRIPT = "encrypted-passwords.js"
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{service}: encrypted passwords</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="assets/account.css">
</head>
<body>
<main class="wide">
<p class="name">{service}</p>
<h1>Encrypted passwords</h1>
<p>Whoever can read what reaches the service, a proxy or a log, need not read passwords. This is all that a browser
does for it:</p>
<pre tabindex="0" role="region" aria-label="The code">{code}</pre>
<p>The text that it makes goes into <code>password</code>, with <code>"isPasswordEncrypted": true</code>. It works once,
within 120 seconds. Keys change: ask for <a href="../.well-known/jwks.json">jwks.json</a> when you need one.</p>
<h2>Try it</h2>
<form id="login">
<label for="email">E-mail address</label>
<input id="email" type="email" autocomplete="username" required>
<label for="password">Password</label>
<input id="password" type="password" autocomplete="current-password" required>
<button>Log in</button>
</form>
<p id="told" role="status" tabindex="-1"></p>
<h2>What was sent as the password</h2>
<pre id="sent" tabindex="0" role="region" aria-label="What was sent"></pre>
<noscript><p>This page needs JavaScript.</p></noscript>
</main>
<script src="assets/encrypted-passwords.js"></script>
<script src="assets/encrypted-passwords-page.js"></script>
</body>
</html>
"""


def page(about: About) -> File:
    """Shows the very script that it runs."""
    code = html.escape((ASSETS / SCRIPT).read_text())
    text = PAGE.format(service=html.escape(about.title), code=code)
    return file_of(text.encode(), HTML, {"content-security-policy": POLICY})


def encrypted_passwords_handler(about: About) -> HTTPRouteHandler:
    return page_handler(f"/{about.root}/encrypted-passwords.html", "docs.encrypted-passwords", page(about))
