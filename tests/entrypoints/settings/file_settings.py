"""Settings of the files, the changes and the webhooks of rows: name, default, a text, its value, and a wrong text."""

from ipaddress import ip_network

from entrypoints.settings.variables import Secret

FILES = [
    ("CHANGES_DAYS", 7, "90", 90, "91"),
    ("CHANGES_STREAMS", 1_000, "5", 5, "0"),
    ("FILES_URL", "", "file:///srv/files", "file:///srv/files", "/srv/files"),
    ("FILES_KEY_ID", None, "key", "key", None),
    ("FILES_SECRET", None, "hidden", Secret("hidden"), None),
    ("FILES_DOWNLOADS", "stream", "redirect", "redirect", "proxy"),
    ("FILES_MAX_BYTES", 104_857_600, "1000", 1000, "0"),
    ("FILES_TENANT_BYTES", 0, "1000", 1000, "-1"),
    ("FILES_KEPT_DAYS", 7, "30", 30, "0"),
    ("FILES_BASE_URL", "", "https://files.example", "https://files.example", "files.example"),
    ("FILES_SCANNER", None, "shop.py:scan", "shop.py:scan", "shop.py"),
    ("WEBHOOK_NETWORKS", (), "127.0.0.0/8", (ip_network("127.0.0.0/8"),), "localhost"),
]
