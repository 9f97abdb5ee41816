"""Use cases that no request asks for: first start, signing keys, mail delivery, housekeeping."""
