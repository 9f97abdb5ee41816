"""Command line. ``main`` declares the commands; the other files do their work and return the text to print."""
