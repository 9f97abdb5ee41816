"""Command line. ``main`` declares the commands; the other files implement them and return the text to print."""
