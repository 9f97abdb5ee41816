"""Read-only commands for settings, declarations and servers."""
