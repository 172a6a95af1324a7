"""``python -m headrace``: the command line, for environments without the `headrace` script."""

from headrace.cli.main import main

if __name__ == "__main__":
    main()
