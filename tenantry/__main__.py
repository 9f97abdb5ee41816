"""``python -m tenantry``: the command line, the same as the command ``tenantry``."""

from entrypoints.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
