"""Assembly of adapters by the settings, and of use cases on them. Commands and server processes do not belong here."""
