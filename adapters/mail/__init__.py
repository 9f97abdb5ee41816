"""Mail: messages rendered from templates, and senders (SMTP, files)."""
