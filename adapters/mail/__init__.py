"""Mail: messages rendered from templates, and the adapters that send them (SMTP, files)."""
