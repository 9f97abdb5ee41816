"""Endpoints of second factors, passkeys and reauthentication."""
