"""The rules: standard library and msgspec only, no I/O, no clock."""
