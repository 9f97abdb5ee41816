"""``python -m tenantry``: the same command line as the command ``tenantry``."""

from entrypoints.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
