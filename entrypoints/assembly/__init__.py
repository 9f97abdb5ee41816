"""Assembly: adapters as the settings say, and the use cases on them. No command and no server process."""
