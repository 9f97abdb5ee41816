"""Output of commands: answers as text or JSON, and the progress of what takes long. No command's work."""
