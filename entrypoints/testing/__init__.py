"""In-memory service for a project's tests: application, client and pytest fixtures. Serving code
does not belong here.
"""
