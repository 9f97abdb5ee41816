"""Endpoints of one-time codes, which hand a login over to a registered application."""
