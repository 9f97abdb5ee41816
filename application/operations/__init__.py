"""Use cases that no request starts: first start, signing keys, mail delivery, housekeeping."""
