"""The service in memory for the tests of a project: application, client and pytest fixtures. Nothing that serves."""
