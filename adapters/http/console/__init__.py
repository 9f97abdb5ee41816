"""The console over HTTP: its files, and the routes of its session, which keep refresh tokens from scripts.

Everything else that the console asks for is the public API; no other folder knows of the console.
"""
