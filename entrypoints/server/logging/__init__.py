"""Logs of the server processes: set-up, the access log, and the thread that writes."""
