"""Fuzzes one target with atheris: `python -m fuzz.python TARGET [OPTIONS] CORPUS...`."""

import sys

import atheris

with atheris.instrument_imports(include=["headrace"]):
    from fuzz.python.targets import TARGETS


def main() -> None:
    """Runs the target that the first argument names."""
    target = TARGETS[sys.argv.pop(1)]
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
