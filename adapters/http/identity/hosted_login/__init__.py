"""Endpoints of the one-time codes that hand a login over to a registered application."""
