"""Rules of the service, using only the standard library and msgspec: no I/O and no clock."""
