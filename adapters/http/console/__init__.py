"""The console over HTTP: its files, and its session routes, which hide refresh tokens from scripts.

Otherwise the console uses only the public API. No other folder depends on the console.
"""
