"""The doors: settings, wiring, the server and the command line."""
