"""The terminal: answers of commands as text or JSON, errors, progress, typed passwords. No command's work."""
