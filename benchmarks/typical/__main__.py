"""Does some of everything, a few minutes of it: `python -m benchmarks.typical [--scale 0.01]`.

A wheel's engine is compiled twice. The first one counts how often each piece of it runs while it
does this; the second one is made fast where that was often, and small elsewhere. So whatever should
be fast has to be done here.
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks.typical import data, formats, operations, programs


def main() -> None:
    """Runs each part once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=float, default=1.0, help="how much to do, times the usual")
    scale = parser.parse_args().scale
    with tempfile.TemporaryDirectory() as directory:
        files = data.write(Path(directory), scale)
        programs.run(files)
        formats.run(Path(directory), files)
        operations.run(scale)


if __name__ == "__main__":
    main()
