"""A console of a few bytes, compressed as at a build: what is served of it, and how, hangs on no application."""

import gzip
from datetime import timedelta

from adapters.http.console.pages import Console

HTML = b"<!doctype html><title>Console</title>"
SCRIPT = b"export const hello = 'world';" * 20
BROTLI = b"brotli of the script"

FILES = {
    "index.html": HTML,
    "app-4F2A91BC.js": SCRIPT,
    "app-4F2A91BC.js.br": BROTLI,
    "app-4F2A91BC.js.gz": gzip.compress(SCRIPT),
    "style-00AA11BB.css": b"body{}",
    "LICENCES.txt": b"preact 11",
}
HTTPS = Console(files=FILES, base_url="https://id.example", remembered=timedelta(days=7))
HTTP = Console(files=FILES, base_url="http://127.0.0.1:8000", remembered=timedelta(days=7))
