"""Every Protocol the use cases need, one file per room, each with its contract in its docstring."""
