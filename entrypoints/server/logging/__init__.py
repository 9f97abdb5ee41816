"""Logs of the server processes: setup, access log, and the writer thread."""
