"""Passwords of every use case: decryption, constant-time checks, and rules."""
