"""Entrypoints of the program: settings, wiring, the server and the command line."""
