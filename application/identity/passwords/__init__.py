"""Passwords of every use case: encrypted in transit, checked in constant time, held to the rules."""
