"""``python -m headrace``: the command line, where no script was installed."""

from headrace.cli.main import main

if __name__ == "__main__":
    main()
