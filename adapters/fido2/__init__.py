"""Passkeys by Yubico's fido2: registration and assertion of WebAuthn credentials."""
