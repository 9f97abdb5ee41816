"""Rules of the service, with the standard library and msgspec only: no I/O and no clock."""
