"""Requests to URLs that users choose, only to allowed addresses, and their signatures."""
