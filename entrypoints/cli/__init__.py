"""The command line: ``main`` lists the commands, the other files do what each of them does."""
